"""The stage runner: stopped and resumed anywhere the result is the same, and steps that diverge are undone."""

import pytest
import torch

from gambol.distillation.stage_runner import MOST_RETURNS, StageRunner, generator_for
from gambol.errors import GambolError
from gambol.motion.optimization import Adam
from gambol.motion.rig_motion import RigMotion


class Hill(torch.nn.Module):
    def __init__(self, start):
        super().__init__()
        self.place = torch.nn.Parameter(start.clone())


class Descent:
    """A stage that moves all angles towards a number, with noise, and stumbles when told to."""

    def __init__(self, rig_motion, number, steps=25, stumbles=()):
        self.name, self.steps, self.number, self.stumbles = f"descent {number}", steps, number, set(stumbles)
        self.base, self.hill = rig_motion, Hill(rig_motion.angles)
        self.adam = Adam(self.hill, (0.9, 0.999))
        self.asked = []

    def step(self, number):
        self.asked.append(number)
        noise = torch.randn(self.hill.place.shape, generator=generator_for(3, self.number, number))
        loss = (self.hill.place - 1 + 0.1 * noise).square().mean()
        if number in self.stumbles and self.adam.lr_scale > 0.9:
            loss = loss * float("nan")
        self.adam.step(loss, 0.05)
        return {"total": loss.item()}

    def rig_motion(self):
        return RigMotion(
            self.hill.place.detach().clone(),
            self.base.root_translation,
            self.base.root_angles,
            self.base.seconds,
            self.base.loops,
            self.base.travel,
        )

    def state(self):
        return self.adam.state()

    def load(self, state):
        self.adam.load(state)

    def slow_down(self):
        self.adam.lr_scale /= 2


START = RigMotion.at_rest(2, 3, 1.0, loops=True)


def stages(**options):
    return [lambda rig_motion, number=number: Descent(rig_motion, number, **options) for number in range(2)]


def finished_runner(runner):
    while not runner.over:
        runner.step()
    return runner.rig_motion().angles


@pytest.mark.parametrize("stop", [0, 1, 7, 24, 25, 26, 40, 49])
def test_a_runner_that_was_stopped_ends_the_same(stop):
    whole = finished_runner(StageRunner(stages(), START))
    runner = StageRunner(stages(), START)
    for _ in range(stop):
        runner.step()
    state = {name: value.clone() for name, value in runner.state().items()}
    again = StageRunner(stages(), START)
    again.load(state)
    assert torch.equal(finished_runner(again), whole)


def test_a_state_is_not_changed_by_going_on():
    runner = StageRunner(stages(), START)
    for _ in range(5):
        runner.step()
    state = runner.state()
    before = {name: value.clone() for name, value in state.items()}
    finished_runner(runner)
    assert all(torch.equal(value, before[name]) for name, value in state.items())


def test_a_nan_is_undone_with_smaller_steps():
    runner = StageRunner(stages(stumbles=(13,)), START)
    troubles = []
    while not runner.over:
        log = runner.step()
        troubles += [log.trouble] if log.trouble else []
    assert len(troubles) == 2, "once in each stage"
    assert "the loss became nan; went back to step 10 with smaller steps" in troubles[0]
    assert torch.isfinite(runner.rig_motion().angles).all()
    assert (runner.rig_motion().angles - 1).abs().mean() < 0.3


@pytest.mark.parametrize("step", [9, 24])
def test_a_gradient_that_is_no_number_is_undone_before_it_is_kept_or_handed_on(step):
    """The loss of that step is fine; the tenth state would be gone back to, the last one is the next stage's."""

    class Slipping(Descent):
        def step(self, number):
            losses = super().step(number)
            if number == step and self.adam.lr_scale > 0.9:
                with torch.no_grad():
                    self.hill.place.fill_(torch.nan)
            return losses

    runner = StageRunner([lambda rig_motion, number=number: Slipping(rig_motion, number) for number in range(2)], START)
    troubles = []
    while not runner.over:
        troubles += [runner.step().trouble]
    told = f"the motion became nan; went back to step {step // 10 * 10} with smaller steps"
    assert [told in trouble for trouble in troubles if trouble] == [True, True], "once in each stage"
    assert torch.isfinite(runner.rig_motion().angles).all()


def test_divergence_is_undone_too():
    class Leaping(Descent):
        def step(self, number):
            losses = super().step(number)
            if number == 15 and self.adam.lr_scale > 0.9:
                return {"total": 1e6}
            return losses

    runner = StageRunner([lambda rig_motion: Leaping(rig_motion, 0)], START)
    logs = []
    while not runner.over:
        logs.append(runner.step())
    assert sum(bool(log.trouble) for log in logs) == 1


def test_what_never_recovers_is_told():
    class Broken(Descent):
        def step(self, number):
            super().step(number)
            return {"total": float("inf")}

    runner = StageRunner([lambda rig_motion: Broken(rig_motion, 0)], START)
    with pytest.raises(GambolError, match=f"diverged {MOST_RETURNS + 1} times"):
        finished_runner(runner)


def test_after_the_end_there_is_nothing_to_do():
    runner = StageRunner([], START)
    assert runner.over
    assert runner.rig_motion() is START
    with pytest.raises(ValueError, match="over"):
        runner.step()


@pytest.mark.parametrize("floor", [1e-8, 1e-2])
def test_our_adam_is_adam(floor):
    start = torch.randn(5, generator=torch.Generator().manual_seed(0))
    ours, theirs = Hill(start), Hill(start)
    search = Adam(ours, (0.9, 0.98), floor)
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=floor)
    for step in range(20):
        rate = 0.1 / (1 + step)
        search.step((ours.place - 1).pow(4).sum(), rate)
        adam.param_groups[0]["lr"] = rate
        adam.zero_grad()
        (theirs.place - 1).pow(4).sum().backward()
        adam.step()
    torch.testing.assert_close(ours.place, theirs.place)


def test_losses_that_grow_from_nothing_are_no_trouble():
    """A start that is nearly perfect: Adam's first steps make the loss grow a thousandfold, and nothing is wrong."""

    class Perfect(Descent):
        def step(self, number):
            losses = super().step(number)
            return {"total": 1e-7 + 1e-3 * min(number, 3), "score": 0.0} if losses else losses

    runner = StageRunner([lambda rig_motion: Perfect(rig_motion, 0)], START)
    troubles = []
    while not runner.over:
        troubles.append(runner.step().trouble)
    assert not any(troubles) and len(troubles) == 25


def test_a_loss_that_jumps_later_is_undone():
    class Jumping(Descent):
        def step(self, number):
            losses = super().step(number)
            return {"total": 1e6} if number == 15 and self.adam.lr_scale > 0.9 else losses

    runner = StageRunner([lambda rig_motion: Jumping(rig_motion, 0)], START)
    troubles = []
    while not runner.over:
        troubles += filter(None, [runner.step().trouble])
    assert len(troubles) == 1 and "to 1e+06; went back to step 10 with smaller steps" in troubles[0]
