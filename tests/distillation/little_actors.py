"""Film sets of Gaussians that are quick to make and to film, and a prior that knows what the character should do."""

from dataclasses import replace

import torch

from gambol.character.anatomy import study
from gambol.character.rig import build_rig
from gambol.distillation import actors
from gambol.distillation.windows import lengthened, windows_for
from gambol.motion.draft import Draft
from gambol.priors.prior import Format, Prompt, VideoPrior
from gambol.priors.schedule import Flow
from gambol.render.fit import FitConfig
from gambol.render.splat import SplatConfig

LITTLE = SplatConfig(kernels=300, views=12, size=48, fit=FitConfig(steps=20))
FRAMES, SECONDS = 9, 1.0


def little_set(character, monkeypatch, *, size=(40, 56), views=1, frames=FRAMES, glide=0.0, loops=False):
    """A film set, its rig, its anatomy and the first draft. glide: in heights of the character."""
    monkeypatch.setattr(actors, "SPLATS", LITTLE)
    anatomy = study(character)
    rig = build_rig(anatomy)
    way = glide * anatomy.height * anatomy.forward
    start = Draft.at_rest(len(rig.nodes), frames, SECONDS, loops, way)
    return actors.actor_set(character, anatomy, rig, size, start, views), rig, anatomy, start


def raised(draft, rig, height):
    """The same motion higher up [file units]."""
    up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)
    return replace(draft, root_translation=draft.root_translation + height * up)


class Watched:
    """A film set that remembers what was filmed last, and from which cameras."""

    def __init__(self, film_set, last=None):
        self.film_set, self.last = film_set, [] if last is None else last

    def __getattr__(self, name):
        return getattr(self.film_set, name)

    def film(self, T_world_joint, views=None):
        cameras = self.film_set if self.film_set._path is not None else self.film_set.aimed(T_world_joint.detach())
        self.last[:] = [cameras, views]
        return self.film_set.film(T_world_joint, views)

    def aimed(self, T_world_joint):
        return Watched(self.film_set.aimed(T_world_joint), self.last)


class Director(VideoPrior):
    """Whatever the noise, it sees the character do what it should, as the cameras of the last film see it."""

    name, look, schedule = "director", "own", Flow()

    def __init__(self, film_set, wanted, length=None, reference="none"):
        """film_set: watched. wanted: T_world_joint. length: of its videos [frames], if not of all."""
        self.film_set, self.wanted, self.reference = film_set, wanted, reference
        self.format = Format(frames=(length or len(wanted),), sizes=(film_set.size,), fps=8)
        self.asked = []
        """How many videos at which level, and with which pictures to begin with, in each call."""

    def embed(self, text):
        return Prompt(text, torch.zeros(1))

    def encode(self, video):
        self.format.check(*video.shape[1:4])
        return 4 * video - 2

    def decode(self, latents):
        return (latents.detach() + 2) / 4

    @torch.no_grad()
    def estimates(self, noisy, level, prompts, reference=None):
        self.asked.append((noisy.clone(), level, reference))
        aimed, views = self.film_set.last
        windows = windows_for(self, len(self.wanted))
        seen = windows.cut(aimed.film(lengthened(self.wanted, windows.frames), views))
        if len(seen) != len(noisy):  # asked for the first windows, or for the others
            first = torch.arange(len(seen)) % len(windows) == 0
            seen = seen[first if reference is not None else ~first]
        return tuple(self.encode(seen) for _ in prompts)
