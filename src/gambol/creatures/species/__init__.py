"""The named creatures: a body plan with the numbers of one animal, chosen by looking at the gallery sheet."""

from gambol.creatures.arthropod import Arthropod
from gambol.creatures.bird import Bird
from gambol.creatures.humanoid import Humanoid
from gambol.creatures.quadruped import Quadruped
from gambol.creatures.reptile import Reptile
from gambol.creatures.species.bipeds import BIRDS, HUMANOIDS, THEROPODS
from gambol.creatures.species.crawlers import ARACHNIDS, INSECTS, REPTILES
from gambol.creatures.species.quadrupeds import CATS, DOGS, GIANTS, GRAZERS, SMALL_AND_FURRY
from gambol.creatures.theropod import Theropod

Plan = Quadruped | Reptile | Humanoid | Theropod | Bird | Arthropod

PLANS: dict[str, dict[str, Plan]] = {
    "quadruped": {**CATS, **DOGS, **SMALL_AND_FURRY, **GRAZERS, **GIANTS},
    "reptile": {**REPTILES},
    "humanoid": {**HUMANOIDS},
    "theropod": {**THEROPODS},
    "bird": {**BIRDS},
    "insect": {**INSECTS},
    "arachnid": {**ARACHNIDS},
}
"""Species by body plan."""
SPECIES: dict[str, Plan] = {name: plan for group in PLANS.values() for name, plan in group.items()}
