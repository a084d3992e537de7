"""Actions that follow each other in one clip."""

import pytest
from character.creatures import human

from gambol.distillation.animate import prepare
from gambol.distillation.config import preset_for, steps_of
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.priors.catalogue import open_prior
from gambol.priors.tracks.prior import TrackPrior


@pytest.fixture(scope="module")
def prior():
    found = open_prior("tracks")
    assert isinstance(found, TrackPrior)
    return found


def problem_of(prior, sentence, then=(), **settings):
    from dataclasses import replace

    config = replace(preset_for("draft", prior), **settings)
    return prepare(human(), sentence, prior, config, then=then)


def test_both_are_in_the_clip(prior):
    problem = problem_of(prior, "a man walks and then bows")
    assert problem.title == "walk then bow" and not problem.loops
    stages = stages_of(problem)
    planned = steps_of(problem.config, "tracks", len(problem.parts))
    runner = StageRunner(stages, problem.start)
    steps = []
    motion = runner.run(lambda log: steps.append((log.number, log.step)))
    assert len(steps) == sum(planned)
    clip = problem.clip(motion, problem.title)
    walk, bow = problem.parts
    assert clip.duration > bow.seconds + 0.8 * (walk.seconds - walk.timing.seconds)
    assert not motion.loops and motion.displacement.norm() > 0


def test_a_run_that_was_stopped_ends_the_same(prior):
    problem = problem_of(prior, "a man walks", then=["he bows"])
    whole = StageRunner(stages_of(problem), problem.start).run()
    stopped = StageRunner(stages_of(problem), problem.start)
    for _ in range(steps_of(problem.config, "tracks", 2)[0] + steps_of(problem.config, "tracks", 2)[1] + 20):
        stopped.step()
    resumed = StageRunner(stages_of(problem), problem.start)
    resumed.load({name: value.clone() for name, value in stopped.state().items()})
    assert (resumed.run().angles == whole.angles).all()


def test_time_is_shared_by_what_loops(prior):
    short, long = (problem_of(prior, "a man walks and then bows", seconds=seconds) for seconds in (4.0, 9.0))
    assert long.parts[0].timing.cycles > short.parts[0].timing.cycles
    assert long.parts[1].seconds == short.parts[1].seconds


def test_pins_go_with_one_action(prior):
    with pytest.raises(GambolError, match="pinned poses goes with one only"):
        problem_of(prior, "a man walks and then bows", pins=((0, "rest"),))


def test_an_action_that_is_not_known_is_refused(prior):
    with pytest.raises(GambolError, match="no action was recognised in 'xyzzy'"):
        problem_of(prior, "a man walks", then=["xyzzy"])


def test_pixels_shows_one_action():
    pixels = open_prior("pixels")
    with pytest.raises(GambolError, match="--then is for the prior tracks"):
        prepare(human(), "a man walks", pixels, preset_for("draft", pixels), then=["he jumps"])
