"""What weights have seen decides whose way of moving a body gets, and what is only a guess."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, human, snake
from test_tracks import tiny_prior

from gambol.character.anatomy import analyze
from gambol.distillation.animate import prepare
from gambol.distillation.config import preset_for
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.motion.chains import find_chains
from gambol.priors.tracks.experience import ENOUGH, Experience, best_experience
from gambol.priors.tracks.features import shape_of
from gambol.priors.tracks.formulas import formula_actions
from gambol.priors.tracks.network import PATCH
from gambol.priors.tracks.prior import TrackPrior
from gambol.priors.tracks.training.batches import DEED_WINDOW, BatchSampler, collate, experience_of, vary
from gambol.priors.tracks.training.procedural import procedural_samples

ROWS = (
    Experience("walk", "leg4", "artist", True, ENOUGH, ENOUGH),
    Experience("walk", "leg4", "procedural", True, 100, 100),
    Experience("trot", "leg4", "artist", True, 1, 1),
    Experience("trot", "leg4", "procedural", True, 50, 50),
    Experience("jump", "leg4", "artist", False, 9, 9),
    Experience("sneak", "arm2 leg2", "mocap", True, 9, 0),
    Experience("bow", "arm2 leg2", "mocap", False, 3, 3),
)


@pytest.fixture(scope="module")
def dog_shape():
    return shape_of(find_chains(analyze(dog())))


@pytest.fixture(scope="module")
def walk():
    anatomy = analyze(human())
    found = procedural_samples(find_chains(anatomy), "human", "people", np.random.default_rng(0))
    return next(sample for sample in found if sample.action == "walk")


def experienced():
    prior = tiny_prior()
    prior.experience = ROWS
    return prior


def test_builds_are_named(dog_shape, walk):
    assert dog_shape.build == "leg4" and walk.shape.build == "arm2 leg2"


@pytest.mark.parametrize(
    ("action", "source", "same"),
    [("walk", "artist", True), ("trot", "procedural", True), ("bow", "mocap", False), ("wave", None, False)],
)
def test_clips_come_first_where_there_are_enough(dog_shape, action, source, same):
    found, alike = best_experience(ROWS, dog_shape, action)
    assert (found.source if found else None, alike) == (source, same)


def test_a_dog_walks_where_only_people_were_seen_sneaking(dog_shape):
    prior = experienced()
    assert "sneak" not in prior.vocabulary_of(dog_shape) and "bow" in prior.vocabulary_of(dog_shape)
    problem = prepare(dog(), "a dog sneaks", prior, preset_for("draft", prior))
    assert problem.intent is not None and problem.intent.action == "walk"
    assert problem.intent.manner.styles == ("sneaky",) and problem.title == "sneak"


def test_what_a_build_was_not_seen_doing_is_experimental():
    prior = experienced()
    problem = prepare(dog(), "a dog bows", prior, preset_for("draft", prior))
    assert any("experimental: the prior was shown nothing of 'bow'" in warning for warning in problem.warnings)
    usual = prepare(dog(), "a dog walks", prior, preset_for("draft", prior))
    assert not any("experimental" in warning for warning in usual.warnings)


def untrained(*names):
    """A prior whose network does not list some actions."""
    prior = tiny_prior()
    actions = tuple(name for name in prior.actions if name not in names)
    return TrackPrior(prior.network, prior.normalization, actions, ROWS)


def test_an_action_that_only_a_formula_shows_is_known_to_who_has_the_formula(dog_shape):
    prior, people = untrained("salute", "beckon"), find_chains(analyze(human()))
    assert "salute" in prior.vocabulary_of(shape_of(people), formula_actions(people))
    assert "salute" not in prior.vocabulary_of(shape_of(people)) and "salute" not in prior.vocabulary
    assert "salute" not in prior.vocabulary_of(dog_shape, formula_actions(find_chains(analyze(dog()))))
    with pytest.raises(GambolError, match="cannot show 'salute', which needs arms, with a body like this"):
        prepare(snake(), "a snake salutes", prior, preset_for("draft", prior))


def test_an_action_that_was_not_trained_on_is_shown_by_formula():
    prior = untrained("salute", "beckon")
    assert prior.row("salute") == 0 and prior.row("beckon") == prior.actions.index("wave") > 0
    problem = prepare(human(), "a man salutes", prior, preset_for("draft", prior))
    assert problem.intent is not None and problem.intent.action == "salute" and not problem.intent.instead_of
    assert int(problem.prompt.embedding) == 0 and problem.start.angles.abs().sum() > 0
    assert stages_of(problem)[0](problem.start).level == 0
    assert problem.made_by == "a formula" and not problem.warnings
    trained = tiny_prior()
    trained.experience = ROWS
    usual = prepare(human(), "a man salutes", trained, preset_for("draft", trained))
    assert int(usual.prompt.embedding) > 0 and usual.made_by == "a formula"


@pytest.mark.parametrize("given", [{"freeze": ("head",)}, {"loop": True}, {"method": "score"}])
def test_what_only_a_formula_shows_does_not_come_from_noise(given):
    prior = untrained("salute")
    with pytest.raises(GambolError, match="'salute' is shown by formula"):
        prepare(human(), "a man salutes", prior, replace(preset_for("draft", prior), **given))


def test_what_only_a_formula_shows_follows_and_goes_along_with_others():
    prior = untrained("salute")
    both = prepare(human(), "a man salutes and then walks", prior, preset_for("draft", prior))
    assert [each.intent.action for each in both.parts if each.intent] == ["salute", "walk"]
    assert both.made_by == "a formula and prior tracks"
    at_once = prepare(human(), "a man walks while saluting", prior, preset_for("draft", prior))
    assert at_once.intent is not None and at_once.intent.meanwhile == "salute" and at_once.meanwhile is not None


def test_a_jump_is_a_deed_where_deeds_were_seen():
    prior = experienced()
    assert not prepare(dog(), "a dog jumps", prior, preset_for("draft", prior)).loops
    assert prepare(dog(), "a dog walks", prior, preset_for("draft", prior)).loops


def test_experience_is_counted(walk):
    long = torch.arange(DEED_WINDOW[1] * PATCH + 2 * PATCH) % len(walk.features.path)
    features = replace(walk.features, parts=walk.features.parts[long], path=walk.features.path[long])
    deed = replace(walk, action="throw", loops=False, features=features)
    assert experience_of([walk, walk, deed]) == [
        Experience("throw", "arm2 leg2", "procedural", False, 1, 0),
        Experience("walk", "arm2 leg2", "procedural", True, 2, 2),
    ]


def test_windows_know_where_in_the_deed_they_are(walk):
    """The network is told how much was cut away, and windows are drawn where much happens."""
    count = 40 * PATCH
    parts = walk.features.parts[:1].expand(count, -1, -1).clone()
    moving = slice(30 * PATCH, 33 * PATCH)
    parts[moving] += torch.randn(parts[moving].shape, generator=torch.Generator().manual_seed(0))
    features = replace(walk.features, parts=parts, path=walk.features.path[:1].expand(count, -1))
    deed = replace(walk, action="throw", loops=False, features=features)
    generator = np.random.default_rng(0)
    found = [vary(deed, generator) for _ in range(20)]
    assert all(DEED_WINDOW[0] <= each.patches <= DEED_WINDOW[1] and not each.whole for each in found)
    for each in found:
        whole = each.before + each.patches + each.after
        assert 30 <= whole <= 48, "at other tempos"
        assert each.before < 33 / 40 * whole + 1 and each.before + each.patches > 30 / 40 * whole - 1
    conditions = collate(found).conditions
    assert conditions.before.tolist() == [each.before for each in found]
    network = tiny_prior().network
    cut = network._place(conditions, int(conditions.patches.max()))
    whole = network._place(replace(conditions, before=conditions.before * 0), int(conditions.patches.max()))
    assert not torch.allclose(cut, whole)


def test_people_learn_from_each_other(walk):
    """Captured motions are also learned on the bodies of artists' people, whatever their proportions."""
    longer = replace(walk.shape, bones=1.5 * walk.shape.bones)
    artist, mocap = replace(walk, source="artist", shape=longer), replace(walk, source="mocap")
    sampler = BatchSampler([artist, mocap])
    generator = np.random.default_rng(0)
    shapes = [sampler._on_other_body(mocap, generator).shape for _ in range(40)]
    assert 5 < sum(shape is longer for shape in shapes) < 35
