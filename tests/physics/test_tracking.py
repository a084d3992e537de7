"""The search for control: that it gets better, keeps the best, survives NaN, and leaves worlds alone."""

import dataclasses

import numpy as np
import pytest
import torch
from bodies import body_of, cut, near_ground, target_of, with_clips

from gambol.physics import tracking
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.reference import Reference
from gambol.physics.simulation import Simulation, SolverConfig, States, rotate
from gambol.physics.target import PhysicalCharacter
from gambol.physics.tracking import TrackConfig, TrackingResult, track_references

ALONE = TrackConfig(iterations=1, guide=0.0)
"""One look at the first control, without help."""
FEW = TrackConfig(iterations=2)


def track(*arguments) -> TrackingResult:
    """The candidate with the lowest loss."""
    return track_references(*arguments)[0]


@pytest.fixture(scope="module")
def body() -> PhysicalCharacter:
    """A dog with three clips: two rounds, and one that ends in the middle of a step."""
    on = body_of("dog", "walk", "trot")
    return PhysicalCharacter(with_clips(on.character, cut(on.character.clips["walk"], 0.5, "stop")), on.anatomy)


@pytest.fixture(scope="module")
def references(body) -> dict[str, Reference]:
    return {name: body.target(name, fix_feet=False).reference for name in ("walk", "trot", "stop")}


@pytest.fixture(scope="module")
def ragdoll(body, references) -> Ragdoll:
    return body.ragdoll.only_points(body.near_ground(*references.values()))


@pytest.fixture(scope="module")
def tracked(ragdoll, references) -> TrackingResult:
    """The walk, tracked as well as it is in a few iterations."""
    return track(ragdoll, [references["walk"]], TrackConfig(iterations=8))


@pytest.fixture(scope="module")
def stopped(ragdoll, references) -> TrackingResult:
    return track(ragdoll, [references["stop"]], FEW)


def assert_finite(found: TrackingResult) -> None:
    for part in (*found.states, *found.control.start, *found.control[1:]):
        assert part.isfinite().all()
    for each in found.tracked:
        assert each.x.isfinite().all() and each.q.isfinite().all()
        assert np.isfinite([each.error, each.seam]).all()


# It gets better


def test_bodies_follow(body, tracked):
    (walk,) = tracked.tracked
    assert_finite(tracked)
    assert not tracked.notes
    assert walk.error < 0.03 * body.height
    assert len(walk.x) == len(walk.reference) + 1 and len(walk.loads) == len(walk.reference)
    torch.testing.assert_close(walk.q.norm(dim=-1), torch.ones(walk.q.shape[:2]), atol=1e-4, rtol=0)
    # On average, feet bear the weight of the body.
    assert float(walk.loads.sum(1).mean()) == pytest.approx(1.0, abs=0.15)


def test_the_loss_falls_without_a_guide(body, ragdoll, references):
    """From foreseen targets alone, on a motion too short to fall."""
    config = TrackConfig(iterations=12, guide=0.0)
    found = track(ragdoll, [references["stop"]], config)
    assert found.losses.shape == (12, 1)
    assert found.losses[-3:].mean() < 0.9 * found.losses[0].mean()
    first = track(ragdoll, [references["stop"]], ALONE)
    assert found.tracked[0].error < first.tracked[0].error


def test_progress_is_told(ragdoll, references):
    told = []
    track(ragdoll, [references["stop"]], TrackConfig(iterations=5, guide=0.0), lambda *each: told.append(each))
    assert [each[:2] for each in told] == [(number, 5) for number in range(1, 6)]
    assert all(np.isfinite(error) and error > 0 for *_, error in told)


def test_the_best_is_kept(ragdoll, references):
    """Steps that are far too large only make it worse: what is given back is where it began."""
    first = track(ragdoll, [references["stop"]], ALONE)
    wild = TrackConfig(iterations=4, lr=1.0, velocity_lr=10.0, guide=0.0, slip=0.0)
    found = track(ragdoll, [references["stop"]], wild)
    assert found.losses[1:].min() > 1.5 * found.losses[0].max()
    assert torch.equal(found.control.targets, first.control.targets)
    assert torch.equal(found.states.x, first.states.x)


def test_candidates_are_the_best_of_parts_of_the_search(ragdoll, references):
    """The one with the lowest loss is the first; no two are the same."""
    config = TrackConfig(iterations=6, guide=0.0, guided=0.0, slip=0.0)
    found = track_references(ragdoll, [references["stop"]], config)
    assert len(found) == tracking.CANDIDATES
    search = tracking._Search(ragdoll, [references["stop"]], config)
    losses = [float(search.losses(each.states, each.control.targets)[0]) for each in found]
    assert losses[0] == min(losses) and len(set(losses)) == len(losses)
    assert losses[0] == pytest.approx(found[0].losses.min())


def test_what_needs_a_guide_does_not_count(ragdoll, references):
    """All but the last iterations are led; what comes without a guide is kept, though its loss is higher."""
    led = TrackConfig(iterations=5, guided=0.8, lr=0.0, velocity_lr=0.0)
    found = track(ragdoll, [references["walk"]], led)
    assert found.losses[-1] > found.losses[0]
    again = found.simulation(*found.control)
    torch.testing.assert_close(found.states.x, again.x, atol=0, rtol=0)


def test_two_runs_are_the_same_bit_for_bit(ragdoll, references, stopped):
    again = track(ragdoll, [references["stop"]], FEW)
    assert (again.losses == stopped.losses).all()
    for ours, theirs in zip(
        (*again.states, again.control.targets), (*stopped.states, stopped.control.targets), strict=True
    ):
        assert torch.equal(ours, theirs)


# NaN


class Spoiled:
    """The simulation, some of whose answers are NaN."""

    def __init__(self, monkeypatch, when, world=slice(None)):
        self.calls, usual = 0, Simulation.__call__

        def call(simulation, *arguments, **options):
            self.calls += 1
            states = usual(simulation, *arguments, **options)
            if not when(self.calls):
                return states
            factor = torch.ones(states.x.shape[1], 1, 1)
            factor[world] = torch.nan
            return States(states.x * factor, *states[1:])

        monkeypatch.setattr(Simulation, "__call__", call)


@pytest.fixture
def rates(monkeypatch) -> list[float]:
    """Those that Adam took its steps at."""
    taken, usual = [], torch.optim.Adam.step

    def step(optimiser, *arguments):
        taken.append(optimiser.param_groups[0]["lr"])
        return usual(optimiser, *arguments)

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    return taken


def test_nan_is_told_and_the_rate_halved(ragdoll, references, monkeypatch, rates):
    Spoiled(monkeypatch, lambda call: call == 2)
    config = TrackConfig(iterations=5)
    found = track(ragdoll, [references["stop"]], config)
    assert found.notes == ("iteration 2 gave NaN: back to the best so far, at half the learning rate",)
    assert np.isnan(found.losses[:, 0]).tolist() == [False, True, False, False, False]
    cosine = [config.lr * 0.5 * (1 + np.cos(np.pi * number / 5)) for number in range(5)]
    assert rates == pytest.approx([cosine[0], *(0.5 * lr for lr in cosine[2:])])
    assert_finite(found)


def test_what_follows_nan_starts_from_the_best(ragdoll, references, monkeypatch):
    """The iteration after is that before, which was the best."""
    Spoiled(monkeypatch, lambda call: call == 2)
    found = track(ragdoll, [references["stop"]], TrackConfig(iterations=4, guide=0.0, slip=0.0))
    assert found.losses[2] == found.losses[0]


def test_nan_in_one_world_leaves_the_others_their_best(ragdoll, references, monkeypatch):
    Spoiled(monkeypatch, lambda call: call == 3, world=1)
    found = track(ragdoll, [references["stop"]] * 2, TrackConfig(iterations=5))
    assert len(found.notes) == 1
    assert np.isnan(found.losses).sum() == 1
    assert_finite(found)


def test_nan_all_the_time_ends_the_search(ragdoll, references, monkeypatch):
    """What is left is the first control; there is no hang and no NaN."""
    with monkeypatch.context() as patch:
        spoiled = Spoiled(patch, lambda call: call <= 10)
        found = track(ragdoll, [references["stop"]], TrackConfig(iterations=200))
    assert len(found.notes) == 10 and spoiled.calls == 11
    assert_finite(found)
    first = track(ragdoll, [references["stop"]], ALONE)
    assert torch.equal(found.control.targets, first.control.targets)


def test_gradients_that_are_nan_do_no_harm(ragdoll, references, monkeypatch):
    usual, calls = tracking._Search.losses, []

    def losses(search, *arguments):
        total, distance = usual(search, *arguments)
        calls.append(1)
        if len(calls) == 2:
            total.register_hook(lambda gradient: gradient * torch.nan)
        return total, distance

    monkeypatch.setattr(tracking._Search, "losses", losses)
    found = track(ragdoll, [references["stop"]], TrackConfig(iterations=4))
    assert [note[:11] for note in found.notes] == ["iteration 2"]
    assert np.isfinite(found.losses).all()
    assert_finite(found)


# Worlds


def test_the_same_side_by_side(ragdoll, references, stopped):
    found = track(ragdoll, [references["stop"]] * 3, FEW)
    (alone,) = stopped.tracked
    for each in found.tracked:
        torch.testing.assert_close(each.x, alone.x, atol=1e-4, rtol=0)
        assert each.error == pytest.approx(alone.error, abs=1e-5)
    assert torch.equal(found.tracked[0].x, found.tracked[1].x)


def test_worlds_of_different_lengths_wait_for_each_other(ragdoll, references, stopped):
    """What is shorter is tracked as it is alone, while the others go on."""
    config, first = FEW, TrackConfig(iterations=1)
    names = ("trot", "stop", "walk")
    found = track(ragdoll, [references[name] for name in names], config)
    assert_finite(found)
    for name, each, losses in zip(names, found.tracked, found.losses.T, strict=True):
        alone = stopped if name == "stop" else track(ragdoll, [references[name]], config if name == "walk" else first)
        assert losses[0] == pytest.approx(alone.losses[0, 0], rel=1e-3)
        assert each.x.shape == alone.tracked[0].x.shape
        if alone.losses.shape == found.losses[:, :1].shape:  # the trot stumbles yet, and rounding decides how
            torch.testing.assert_close(each.x, alone.tracked[0].x, atol=4e-3, rtol=0)
    targets, knots = found.control.targets[:, 1], found.simulation.knots
    end = (len(references["stop"]) - 1) * knots
    assert len(targets) > end + 1
    assert (targets[end:] == targets[end]).all(), "it holds its last target"
    assert not (targets[: end + 1] == targets[end]).all()


def test_what_happens_while_a_world_waits_does_not_count(ragdoll, references):
    """Three times as long beside a walk: the trot stands on a ground that passes, and is dragged along."""

    def first_loss(*asked: Reference) -> float:
        search = tracking._Search(ragdoll, asked, TrackConfig())
        targets, rates = search.first_targets, search.first_rates()
        states = search.simulation(*search.control(targets, rates), search.lead._replace(stiffness=50.0))
        return float(search.losses(states, targets, 50.0)[0][-1])

    walk = references["walk"]
    longer = dataclasses.replace(
        walk, **{name: torch.cat([getattr(walk, name)] * 3) for name in ("x", "q", "angles", "upwards", "forwards")}
    )
    assert len(longer) > 2 * len(references["trot"])
    assert first_loss(longer, references["trot"]) == pytest.approx(first_loss(references["trot"]), rel=1e-3)


def test_rates_must_be_the_same(ragdoll, references):
    faster = dataclasses.replace(references["stop"], fps=12.0)
    with pytest.raises(ValueError, match=r"the same frames a second, got \[12.0, 60.0\]"):
        track(ragdoll, [references["stop"], faster])


@pytest.mark.parametrize("world", [0, 1])
def test_one_world_alone_is_a_run_of_its_own(ragdoll, references, world):
    names = ("walk", "stop")
    found = track(ragdoll, [references[name] for name in names], TrackConfig(iterations=2))
    control, states = found.alone(world)
    assert control.targets.shape[1] == 1 and control.start.x.shape[0] == 1
    again = found.simulation(*control)
    assert len(again.x) == len(states.x)
    torch.testing.assert_close(again.x, states.x, atol=1e-6, rtol=0)
    every, begin = found.simulation.substeps, found.begins[world]
    torch.testing.assert_close(states.x[begin * every :: every, 0], found.tracked[world].x, atol=0, rtol=0)
    if names[world] == "walk":
        assert len(states.x) == len(found.states.x) and begin >= len(references["walk"])
    else:
        assert len(states.x) == (len(references["stop"]) - 1) * every + 1 and begin == 0


# Rounds


def test_every_round_has_the_same_control(tracked):
    knots, count = tracked.simulation.knots, len(tracked.tracked[0].reference)
    targets = tracked.control.targets
    assert (len(targets) - 1) % (count * knots) == 0 and len(targets) > 2 * count * knots
    torch.testing.assert_close(targets[count * knots :], targets[: -count * knots], atol=0, rtol=0)
    torch.testing.assert_close(tracked.control.upwards[count * knots], tracked.control.upwards[0])


def test_the_end_of_a_round_is_near_its_start(body, tracked):
    (walk,) = tracked.tracked
    assert walk.seam < 0.01 * body.height
    apart = walk.x[-1] - walk.x[0]
    assert float((apart - apart.mean(0))[:, 1].abs().max()) < 0.01 * body.height


def test_what_does_not_loop_has_no_seam(stopped, references):
    (stop,) = stopped.tracked
    assert stop.seam == 0.0
    assert len(stop.x) == len(references["stop"]) and stopped.begins == (0,)


def test_a_round_can_go_on_and_on(tracked):
    assert tracked.fall_time(0) is None
    assert tracked.fall_time(0, 1.0) is None


def test_a_body_that_gives_way_does_not_endure(ragdoll, tracked):
    limp = Simulation(ragdoll, tracked.tracked[0].reference.fps, SolverConfig(stiffness=1e-3, upright=0.0))
    fallen = dataclasses.replace(tracked, simulation=limp).fall_time(0)
    assert fallen is not None and 0 < fallen < 2.0


def test_a_body_that_is_pulled_over_does_not_endure(tracked):
    """The root aims sideways: it lies down, though all its legs go on."""
    crooked = tracked.control.targets.clone()
    crooked[..., 0] += 1.5
    fallen = dataclasses.replace(tracked, control=tracked.control._replace(targets=crooked)).fall_time(0)
    assert fallen is not None and fallen < 3.0


def test_numbers_that_blow_up_do_not_endure(tracked):
    states = States(tracked.states.x, tracked.states.q, tracked.states.v * torch.nan, tracked.states.w)
    assert dataclasses.replace(tracked, states=states).fall_time(0, 1.0) is not None


# The start


@pytest.mark.parametrize("height", [0.03, -0.03])
def test_a_start_is_set_down(ragdoll, references, height):
    """Whatever hovers or sinks a little begins with its lowest point on the ground."""
    plain = references["stop"]
    raised = dataclasses.replace(plain, x=plain.x + torch.tensor([0.0, height, 0.0]))
    for each in (plain, raised):
        found = track(ragdoll, [each], ALONE)
        lowest = found.simulation.points(States(*(part[:1] for part in found.states)))[..., 1].min()
        assert float(lowest) == pytest.approx(0.0, abs=1e-5)


def test_a_start_in_flight_stays_there(ragdoll, references):
    plain = references["stop"]
    leap = dataclasses.replace(plain, x=plain.x + torch.tensor([0.0, 0.5, 0.0]))
    found = track(ragdoll, [leap], ALONE)
    torch.testing.assert_close(found.control.start.x[0], leap.x[0])


def test_a_start_does_not_tear_joints(tracked):
    """Joints have the same velocity seen from either of their bones."""
    ragdoll, start = tracked.simulation.ragdoll, tracked.control.start
    for bone, parent in enumerate(ragdoll.parents):
        if parent < 0:
            continue
        ends = []
        for each in (bone, parent):
            arm = torch.as_tensor(ragdoll.anchors[bone] - ragdoll.centers[each]).float()
            turned = rotate(start.q[0, each], arm)
            ends.append(start.v[0, each] + torch.linalg.cross(start.w[0, each], turned))
        torch.testing.assert_close(ends[0], ends[1], atol=1e-4, rtol=0)


def test_a_ragdoll_that_touches_nothing_can_be_tracked():
    """It falls, as it should, and nothing is NaN."""
    target = target_of("spider", "walk")
    nothing = near_ground(target).only_points(np.zeros(len(near_ground(target).points), bool))
    found = track(nothing, [target.reference], TrackConfig(iterations=1))
    assert_finite(found)
    assert float(found.states.x[-1, 0, 0, 1]) < float(found.states.x[0, 0, 0, 1]) - 0.1


def test_a_spider():
    target = target_of("spider", "walk")
    found = track(near_ground(target), [target.reference], TrackConfig(iterations=5))
    assert_finite(found)
    assert found.tracked[0].error < 0.1 * target.body.height
