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
from gambol.rigging.learned.slots import PARTNERS, PARTS, SLOTS
from gambol.rigging.learned.surface_points import framing, sampled_surface
from gambol.tensor_files import read_tensors, write_tensors

VIEWS = 4
"""Sets of points that are drawn from a mesh; each is looked at four times: mirrored or not, turned round or not."""
MIRRORED, TURNED = np.array([-1.0, 1.0, 1.0]), np.array([-1.0, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class JointGuess:
    """Where the joints of a body are, if it has them."""

    places: Float[np.ndarray, "slots 3"]
    """[file units, world]"""
    spread: Float[np.ndarray, " slots"]
    """How far the answers for different points of the surface differ [longest sides]."""
    parts: Float[np.ndarray, " parts"]
    """Probability of having each of PARTS."""
    facing: float
    """Probability of facing along the axis that was asked about, rather than against it."""

    def has(self, chain: str, rank: int = 0) -> float:
        """Probability of having a part."""
        return float(self.parts[PARTS.index((chain, rank))])


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

    def guess(
        self,
        vertices: Float[np.ndarray, "vertices 3"],
        faces: Int[np.ndarray, "faces 3"],
        up: Float[np.ndarray, 3],
        forward: Float[np.ndarray, 3],
        faces_forward: bool = False,
    ) -> JointGuess:
        """Joints of a mesh that faces along an axis or against it, of which the likelier is taken unless it
        `faces_forward` for sure. Deterministic."""
        axes = np.stack([np.cross(up, forward), up, forward], axis=1)
        config = self.network.config
        points, normals = sampled_surface(vertices @ axes, faces, VIEWS * config.points, np.random.default_rng(0))
        centre, scale = framing(points)
        order = np.random.default_rng(1).permutation(len(points))
        points, normals = ((points - centre) * scale)[order], normals[order]
        views = [(flip, turn) for flip in (np.ones(3), MIRRORED) for turn in (np.ones(3), TURNED)]
        found, parts, facing = [], [], []
        for start in range(0, len(points), config.points):
            rows = slice(start, start + config.points)
            seen = [torch.from_numpy(np.stack([v[rows] * f * t for f, t in views])).float() for v in (points, normals)]
            with torch.inference_mode():
                guess = self.network(*seen)
            for number, (flip, turn) in enumerate(views):
                places = guess.places[number].double().numpy() * turn * flip
                found.append(places[PARTNERS] if flip is MIRRORED else places)
                parts.append(torch.sigmoid(guess.parts[number]).double().numpy())
                facing.append(float(guess.facing[number]) * (-1 if turn is TURNED else 1))
        mean = float(np.mean(facing))
        # Each view says where joints are if it faces the way it was shown: those that agree with the answer count.
        ahead = faces_forward or mean >= 0
        agreeing = [i for i in range(len(found)) if (views[i % len(views)][1] is not TURNED) == ahead]
        places = np.stack(found)[agreeing]
        middle = np.median(places, axis=0)
        spread = np.linalg.norm(places - middle, axis=2).mean(0)
        world = (middle / scale + centre) @ axes.T
        return JointGuess(world, spread, np.stack(parts)[agreeing].mean(0), 1 / (1 + float(np.exp(-mean))))


@cache
def shipped_model() -> JointModel:
    """The network that comes with gambol, read once."""
    return JointModel.load()


def _slot_names() -> list[str]:
    return [f"{slot.chain} {slot.side} {slot.rank} {slot.place}" for slot in SLOTS]
