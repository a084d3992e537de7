"""The trained judge and its answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import torch

from gambol.actions import known_action
from gambol.bench.body_motion import BodyMotion
from gambol.bench.judge.features import Tokens, batch_of, tokens_of
from gambol.bench.judge.network import JudgeNetwork, JudgeNetworkConfig
from gambol.bench.judge.stroke_parts import able, build_of
from gambol.errors import AssetError, GambolError
from gambol.tensor_files import read_tensors, write_tensors

NONE = ""
"""The action of what shows none."""
AT_ONCE = 64
"""Motions that are judged together."""


def is_kind(action: str, general: str) -> bool:
    """Whether an action is another one or a kind of it: sneaking is walking."""
    return bool(action) and known_action(action, (general,)) is not None


@dataclass(frozen=True)
class Judgement:
    """What the judge says of a motion."""

    semantic: float
    """SA: probability of the action that was asked, or of a kind of it, among those that artists' clips of such a body
    show."""
    physical: float
    """PC: probability that it is an artist's or captured motion, rather than a corrupted one."""
    action: str
    """The action by which it was judged: that which was asked, or the more general one that the judge knows."""
    taken_for: str
    """The likeliest action; empty if it shows none."""
    probabilities: Mapping[str, float]
    """Of all actions that bodies of this build do, the likeliest first; that of none is under the empty name."""

    @property
    def right(self) -> bool:
        """Whether the likeliest action is the one that was asked, or a kind of it."""
        return is_kind(self.taken_for, self.action)


class Judge:
    """A network with its weights and the names of its actions."""

    def __init__(
        self, network: JudgeNetwork, actions: Sequence[str], choices: Mapping[str, Sequence[str]], about: Mapping = {}
    ):
        """choices: actions of each build (`stroke_parts.build_of`) of which there were clips."""
        self.network, self.actions, self.about = network.eval(), tuple(actions), dict(about)
        self.choices = {build: tuple(names) for build, names in choices.items()}
        for parameter in network.parameters():
            parameter.requires_grad_(False)

    def known(self, action: str) -> str:
        """The action itself, or the first more general one that the judge knows. Raises GambolError if there is
        none."""
        found = known_action(action, self.actions)
        if not found:
            raise GambolError(f"the judge knows nothing like '{action}'. It knows: {', '.join(self.actions)}")
        return found

    def judge(self, motion: BodyMotion, action: str) -> Judgement:
        """Judge a motion that should show an action."""
        return self.judge_all([motion], [action])[0]

    def judge_all(self, motions: Sequence[BodyMotion], actions: Sequence[str]) -> list[Judgement]:
        """Judge motions, each beside the action that it should show; quicker than one by one."""
        asked = [self.known(action) for action in actions]
        found: list[Judgement] = []
        for start in range(0, len(motions), AT_ONCE):
            some = motions[start : start + AT_ONCE]
            logits, artist = self.answers(batch_of([tokens_of(motion) for motion in some]))
            for motion, name, row, physical in zip(
                some, asked[start:], logits, artist.sigmoid().tolist(), strict=False
            ):
                found.append(self._judgement(motion, name, row, physical))
        return found

    @torch.inference_mode()
    def answers(self, tokens: Tokens) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of the actions, the last of none, and of being by an artist."""
        return self.network(tokens)

    def choices_of(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Actions that artists' clips show of bodies of this build, and for which these have the limbs."""
        return tuple(name for name in self.choices.get(build_of(parts), self.actions) if able(parts, name))

    def _judgement(self, motion: BodyMotion, asked: str, logits: torch.Tensor, physical: float) -> Judgement:
        names = [*dict.fromkeys((*self.choices_of(motion.parts), asked)), NONE]
        every = (*self.actions, NONE)
        shares = logits[[every.index(name) for name in names]].softmax(0).tolist()
        ranked = dict(sorted(zip(names, shares, strict=True), key=lambda each: -each[1]))
        semantic = sum(share for name, share in ranked.items() if is_kind(name, asked))
        return Judgement(semantic, physical, asked, next(iter(ranked)), ranked)

    @staticmethod
    def load(path: Path | None = None) -> Judge:
        """Read weights that `save` wrote, by default those that come with gambol."""
        path = path or Path(str(files("gambol.bench.judge") / "weights.safetensors"))
        tensors, facts = read_tensors(path)
        try:
            network = JudgeNetwork(JudgeNetworkConfig(**json.loads(facts["network"])))
            network.load_state_dict({name: value.float() for name, value in tensors.items()})
            return Judge(
                network, json.loads(facts["actions"]), json.loads(facts["choices"]), json.loads(facts["about"])
            )
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise AssetError(f"'{path}' holds no weights of a judge: {error}") from None

    def save(self, path: Path) -> None:
        """Write the weights in half precision."""
        facts = {
            "network": json.dumps(asdict(self.network.config)),
            "actions": json.dumps(self.actions),
            "choices": json.dumps(self.choices),
            "about": json.dumps(self.about),
        }
        write_tensors(path, {name: value.half() for name, value in self.network.state_dict().items()}, facts)


@cache
def shipped_judge() -> Judge:
    """The judge that comes with gambol, read once."""
    return Judge.load()


def judge(motion: BodyMotion, action: str) -> Judgement:
    """Judge a motion that should show an action, by the judge that comes with gambol."""
    return shipped_judge().judge(motion, action)
