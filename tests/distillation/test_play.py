"""Plays: stopped and resumed anywhere they end the same, and numbers that get out of hand are undone."""

import pytest
import torch

from gambol.distillation.act import Search, generator_for
from gambol.distillation.play import MOST_RETURNS, Play
from gambol.errors import GambolError
from gambol.motion.draft import Draft


class Hill(torch.nn.Module):
    def __init__(self, start):
        super().__init__()
        self.place = torch.nn.Parameter(start.clone())


class Descent:
    """An act that moves all angles towards a number, with noise, and stumbles when told to."""

    def __init__(self, draft, number, steps=25, stumbles=()):
        self.name, self.steps, self.number, self.stumbles = f"descent {number}", steps, number, set(stumbles)
        self.base, self.hill = draft, Hill(draft.angles)
        self.search = Search(self.hill, (0.9, 0.999))
        self.asked = []

    def step(self, number):
        self.asked.append(number)
        noise = torch.randn(self.hill.place.shape, generator=generator_for(3, self.number, number))
        loss = (self.hill.place - 1 + 0.1 * noise).square().mean()
        if number in self.stumbles and self.search.caution > 0.9:
            loss = loss * float("nan")
        self.search.descend(loss, 0.05)
        return {"total": loss.item()}

    def draft(self):
        return Draft(
            self.hill.place.detach().clone(),
            self.base.root_translation,
            self.base.root_angles,
            self.base.seconds,
            self.base.loops,
            self.base.travel,
        )

    def state(self):
        return self.search.state()

    def load(self, state):
        self.search.load(state)

    def slow_down(self):
        self.search.caution /= 2


START = Draft.at_rest(2, 3, 1.0, loops=True)


def acts(**options):
    return [lambda draft, number=number: Descent(draft, number, **options) for number in range(2)]


def played(play):
    while not play.over:
        play.step()
    return play.draft().angles


@pytest.mark.parametrize("stop", [0, 1, 7, 24, 25, 26, 40, 49])
def test_a_play_that_was_stopped_ends_the_same(stop):
    whole = played(Play(acts(), START))
    play = Play(acts(), START)
    for _ in range(stop):
        play.step()
    state = {name: value.clone() for name, value in play.state().items()}
    again = Play(acts(), START)
    again.load(state)
    assert torch.equal(again.before.angles, play.before.angles)
    assert torch.equal(played(again), whole)


def test_a_state_is_not_changed_by_going_on():
    play = Play(acts(), START)
    for _ in range(5):
        play.step()
    state = play.state()
    before = {name: value.clone() for name, value in state.items()}
    played(play)
    assert all(torch.equal(value, before[name]) for name, value in state.items())


def test_a_nan_is_undone_with_smaller_steps():
    play = Play(acts(stumbles=(13,)), START)
    troubles = []
    while not play.over:
        moment = play.step()
        troubles += [moment.trouble] if moment.trouble else []
    assert len(troubles) == 2, "once in each act"
    assert "the loss became nan; went back to step 10 with smaller steps" in troubles[0]
    assert torch.isfinite(play.draft().angles).all()
    assert (play.draft().angles - 1).abs().mean() < 0.3


@pytest.mark.parametrize("step", [9, 24])
def test_a_gradient_that_is_no_number_is_undone_before_it_is_kept_or_handed_on(step):
    """The loss of that step is fine; the tenth state would be gone back to, the last one is the next act's."""

    class Slipping(Descent):
        def step(self, number):
            losses = super().step(number)
            if number == step and self.search.caution > 0.9:
                with torch.no_grad():
                    self.hill.place.fill_(torch.nan)
            return losses

    play = Play([lambda draft, number=number: Slipping(draft, number) for number in range(2)], START)
    troubles = []
    while not play.over:
        troubles += [play.step().trouble]
    told = f"the motion became nan; went back to step {step // 10 * 10} with smaller steps"
    assert [told in trouble for trouble in troubles if trouble] == [True, True], "once in each act"
    assert torch.isfinite(play.draft().angles).all()


def test_divergence_is_undone_too():
    class Leaping(Descent):
        def step(self, number):
            losses = super().step(number)
            if number == 15 and self.search.caution > 0.9:
                return {"total": 1e6}
            return losses

    play = Play([lambda draft: Leaping(draft, 0)], START)
    moments = []
    while not play.over:
        moments.append(play.step())
    assert sum(bool(moment.trouble) for moment in moments) == 1


def test_what_never_recovers_is_told():
    class Broken(Descent):
        def step(self, number):
            super().step(number)
            return {"total": float("inf")}

    play = Play([lambda draft: Broken(draft, 0)], START)
    with pytest.raises(GambolError, match=f"diverged {MOST_RETURNS + 1} times"):
        played(play)


def test_after_the_end_there_is_nothing_to_do():
    play = Play([], START)
    assert play.over
    assert play.draft() is START
    with pytest.raises(ValueError, match="over"):
        play.step()


@pytest.mark.parametrize("floor", [1e-8, 1e-2])
def test_our_adam_is_adam(floor):
    start = torch.randn(5, generator=torch.Generator().manual_seed(0))
    ours, theirs = Hill(start), Hill(start)
    search = Search(ours, (0.9, 0.98), floor)
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=floor)
    for step in range(20):
        rate = 0.1 / (1 + step)
        search.descend((ours.place - 1).pow(4).sum(), rate)
        adam.param_groups[0]["lr"] = rate
        adam.zero_grad()
        (theirs.place - 1).pow(4).sum().backward()
        adam.step()
    torch.testing.assert_close(ours.place, theirs.place)
