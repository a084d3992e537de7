"""Two actions at once."""

import pytest
import torch
from character.creatures import human

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig, preset_for
from gambol.distillation.overlay import acting_joints, cycles_for, overlaid
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.language import require_intent
from gambol.motion.chains import find_chains
from gambol.motion.rig_motion import RigMotion
from gambol.priors.catalogue import open_prior
from gambol.priors.tracks.prior import TrackPrior


@pytest.fixture(scope="module")
def body():
    anatomy = analyze(human())
    return find_chains(anatomy), build_rig(anatomy)


def raised(chains, rig, side, frames=20):
    """An arm goes up and down."""
    arm = next(chain for chain in chains.chains if chain.kind == "arm" and chain.side == side)
    motion = RigMotion.at_rest(len(rig.nodes), frames, 1.0, False)
    motion.angles[:, arm.joints[0]] = torch.sin(torch.pi * motion.along)[:, None]
    return motion, arm


def test_the_arm_that_acts_is_found(body):
    chains, rig = body
    motion, arm = raised(chains, rig, "left")
    joints = acting_joints(chains, rig, motion)
    assert set(arm.joints) <= set(joints)
    assert not any(set(chain.joints) & set(joints) for chain in chains.chains if chain.kind in ("leg", "trunk"))
    assert not any(set(c.joints) & set(joints) for c in chains.chains if c.kind == "arm" and c.side == "right")


def test_only_these_joints_change_and_the_ends_stay(body):
    chains, rig = body
    other, _ = raised(chains, rig, "left")
    joints = acting_joints(chains, rig, other)
    base = RigMotion.at_rest(len(rig.nodes), 60, 2.0, True)
    base.angles[:] = 0.1
    found = overlaid(base, other, joints)
    rest = [joint for joint in range(len(rig.nodes)) if joint not in joints]
    assert torch.equal(found.angles[:, rest], base.angles[:, rest])
    assert torch.equal(found.angles[[0, -1]], base.angles[[0, -1]])
    assert found.angles[:, joints].max() > 0.9


def test_cycles_give_it_time():
    assert cycles_for(1.7, 1.0) == 2 and cycles_for(1.05, 1.0) == 1 and cycles_for(0.3, 1.0) == 1


def test_who_waves_while_walking_walks_and_waves():
    prior = TrackPrior.load()
    character = human()
    config = preset_for("draft", prior)
    both = prepare(character, "he waves while walking", prior, config)
    alone = prepare(character, "he walks", prior, config)
    assert both.intent.action == "walk" and both.meanwhile is not None and both.loops
    assert both.seconds >= both.meanwhile[0].seconds * 0.85
    walk, waving = (problem.whole(StageRunner(stages_of(problem), problem.start).run()) for problem in (alone, both))
    legs = [joint for leg in both.anatomy.legs for joint in leg.chain]
    assert torch.allclose(waving.angles[: len(walk), legs], walk.angles[:, legs], atol=0.05)
    arm = both.meanwhile[1]
    assert (waving.angles[:, arm] - waving.angles[:1, arm]).abs().max() > 0.5


def test_what_is_understood_and_not_shown_is_said():
    prior, character = TrackPrior.load(), human()
    told = prepare(character, "he walks sadly", prior, preset_for("draft", prior)).warnings
    assert not any("not shown" in warning for warning in told)
    frozen = AnimateConfig(freeze=("head",), sample=preset_for("draft", prior).sample)
    told = prepare(character, "he walks sadly", prior, frozen).warnings
    assert any("understood but not shown: sad" in warning for warning in told)
    pixels = open_prior("pixels")
    told = prepare(character, "he waves with his left hand", pixels, preset_for("draft", pixels)).warnings
    assert any("understood but not shown: the left side" in warning for warning in told)


def test_what_the_prior_does_not_know_is_left_out():
    intent = require_intent("he waves while walking", ["walk"])
    assert intent.action == "walk" and not intent.meanwhile and intent.left_out == ("wave",)
