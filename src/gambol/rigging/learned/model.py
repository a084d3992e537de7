"""The trained joint network, and what it says of a mesh."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int

from gambol.errors import AssetError
from gambol.rigging.learned.network import JointNetwork, JointNetworkConfig
from gambol.rigging.learned.slots import PART_OF, PARTNERS, PARTS, SLOTS
from gambol.rigging.learned.surface_points import framing, sampled_surface
from gambol.rigging.mirror import MirrorPlane
from gambol.tensor_files import read_tensors, write_tensors

DRAWN = 4
"""Sets of points that are drawn from a mesh."""
WAYS = np.array([(1.0, 1, 1), (-1.0, 1, 1), (-1.0, 1, -1), (1.0, 1, -1)])
"""Each is looked at as it is, mirrored, turned round, and both."""


@dataclass(frozen=True, eq=False)
class JointGuess:
    """Where the joints of a body are, if it has them."""

    places: Float[np.ndarray, "slots 3"]
    """[file units, world]"""
    spread: Float[np.ndarray, " slots"]
    """How far the answers for different points of the surface differ [longest sides]."""
    parts: Float[np.ndarray, " parts"]
    """Probability of having each of PARTS."""

    def has(self, chain: str, rank: int = 0) -> float:
        """Probability of having a part."""
        return float(self.parts[PARTS.index((chain, rank))])

    def spread_of(self, chain: str, rank: int) -> float:
        """The mean spread of the slots of a part."""
        return float(self.spread[PARTS.index((chain, rank)) == PART_OF].mean())

    def evened(self, mirror: MirrorPlane) -> Float[np.ndarray, "slots 3"]:
        """Places made the same on both sides."""
        return (self.places + mirror.image(self.places)[PARTNERS]) / 2


@dataclass(frozen=True, eq=False)
class Look:
    """What the network says of a mesh, by views of it: points drawn anew, mirrored or not, turned round or not."""

    forward: Float[np.ndarray, 3]
    """The axis that the body faces, or against it."""
    places: Float[np.ndarray, "views slots 3"]
    """[file units, world]"""
    parts: Float[np.ndarray, "views parts"]
    facing: Float[np.ndarray, " views"]
    """Logits of facing forward."""
    size: float
    """Longest side [file units]."""

    @property
    def vote(self) -> float:
        """From -1, the body faces backward for sure, to 1, it faces forward."""
        return float(np.tanh(self.facing.mean() / 2))

    def joints(self, forward: Float[np.ndarray, 3]) -> JointGuess | None:
        """Joints of a body that faces a direction, by the views that see it so; None if most see it otherwise."""
        agreeing = self.facing * float(np.sign(forward @ self.forward)) > 0
        if agreeing.mean() < 0.5:
            return None
        places = self.places[agreeing]
        middle = np.median(places, axis=0)
        spread = np.linalg.norm(places - middle, axis=2).mean(0) / self.size
        return JointGuess(middle, spread, self.parts[agreeing].mean(0))


class JointModel:
    """A network with its weights."""

    def __init__(self, network: JointNetwork):
        self.network = network.eval()
        for parameter in network.parameters():
            parameter.requires_grad_(False)

    @staticmethod
    def load(path: Path | None = None) -> JointModel:
        """Read weights that `save` wrote, by default those that come with gambol."""
        path = path or Path(str(files("gambol.rigging.learned") / "weights.safetensors"))
        tensors, facts = read_tensors(path)
        try:
            if json.loads(facts["slots"]) != _slot_names():
                raise ValueError("its joints are others than today's")
            network = JointNetwork(JointNetworkConfig(**json.loads(facts["network"])))
            network.load_state_dict({name: value.float() for name, value in tensors.items()})
            return JointModel(network)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise AssetError(f"'{path}' holds no weights of a joint network: {error}") from None

    def save(self, path: Path, about: dict[str, object]) -> None:
        """Write the weights in half precision. about: how they were trained."""
        facts = {
            "network": json.dumps(asdict(self.network.config)),
            "slots": json.dumps(_slot_names()),
            "about": json.dumps(about),
        }
        write_tensors(path, {name: value.half() for name, value in self.network.state_dict().items()}, facts)

    def look(
        self,
        vertices: Float[np.ndarray, "vertices 3"],
        faces: Int[np.ndarray, "faces 3"],
        up: Float[np.ndarray, 3],
        forward: Float[np.ndarray, 3],
    ) -> Look:
        """Look at a mesh that faces along an axis or against it. Deterministic."""
        axes = np.stack([np.cross(up, forward), up, forward], axis=1)
        config = self.network.config
        points, normals = sampled_surface(vertices @ axes, faces, DRAWN * config.points, np.random.default_rng(0))
        centre, scale = framing(points)
        order = np.random.default_rng(1).permutation(len(points))  # they come sorted by face
        points, normals = ((points - centre) * scale)[order], normals[order]
        places, parts, facing = [], [], []
        for start in range(0, len(points), config.points):
            rows = slice(start, start + config.points)
            seen = [torch.from_numpy(np.stack([v[rows] * way for way in WAYS])).float() for v in (points, normals)]
            with torch.inference_mode():
                guess = self.network(*seen)
            for way, found in zip(WAYS, guess.places.double().numpy(), strict=True):
                is_image = way.prod() < 0  # what was left is seen on the right
                places.append((found[PARTNERS] if is_image else found) * way)
            parts.append(torch.sigmoid(guess.parts).double().numpy())
            facing.append(guess.facing.double().numpy() * WAYS[:, 2])
        world = (np.stack(places) / scale + centre) @ axes.T
        return Look(forward, world, np.concatenate(parts), np.concatenate(facing), 1 / scale)


@cache
def shipped_model() -> JointModel:
    """The network that comes with gambol, read once."""
    return JointModel.load()


def _slot_names() -> list[str]:
    return [f"{slot.chain} {slot.side} {slot.rank} {slot.place}" for slot in SLOTS]
