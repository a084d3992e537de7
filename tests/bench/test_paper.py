"""The sections of `gambol bench paper`, each on one animal with hardly any steps."""

from __future__ import annotations

import pytest

from gambol.bench.deformation import DeformationConfig
from gambol.bench.paper import ablations, comparison, diversity, physics
from gambol.bench.paper.methods import Maker, Method, scored
from gambol.bench.paper.scores import COLUMNS, score_table, wins
from gambol.bench.results import Results
from gambol.bench.subjects import ZOO, Subject, subjects_of
from gambol.creatures.species import PLANS
from gambol.creatures.zoo import create
from gambol.errors import GambolError
from gambol.formats import save

FOX = Subject("fox", "fox")


@pytest.fixture(scope="module")
def maker(tmp_path_factory) -> Maker:
    return Maker(Results(tmp_path_factory.mktemp("results")), "pixels", "it walks", 2, 0)


def test_the_zoo_has_as_many_animals_as_the_paper(tmp_path):
    names = ZOO.split()
    assert len(names) == len(set(names)) == 29 and PLANS
    assert [subject.name for subject in subjects_of([], 3)[0]] == names[:3]
    (tmp_path / "broken.glb").write_bytes(b"no")
    with pytest.raises(GambolError, match=r"none of the characters can walk: broken\.glb"):
        subjects_of([tmp_path], 3)


def test_folders_are_taken_by_turns(tmp_path):
    for folder, animal in (("a", "dog"), ("b", "duck")):
        (tmp_path / folder).mkdir()
        for number in range(2):
            save(create(animal), tmp_path / folder / f"{folder}{number}.glb")
    found, left_out = subjects_of([tmp_path / "a", tmp_path / "b"], 3)
    assert [subject.name for subject in found] == ["a0", "b0", "a1"] and not left_out


def test_comparison(maker, tmp_path):
    lines = comparison.compare(maker, [FOX], "walk", DeformationConfig(), tmp_path)
    text = "\n".join(lines)
    assert "| AKD |" in text and "| deformation field |" in text and "| SA |" in text
    assert list(tmp_path.glob("fox-*.png")) and (tmp_path / "comparison.svg").exists()
    other = Maker(maker.results, "pixels", "it walks", 3, 0)
    assert other.digest(FOX) != maker.digest(FOX), "pictures of other settings are others"
    ours = maker.by_joints(FOX, comparison.AKD)
    theirs = maker.by_field(FOX, DeformationConfig())
    assert ours.calls == theirs.calls == 4, "two steps with guidance, of both"
    assert ours.clip is not None and theirs.clip is None


def test_videophy_is_asked_and_answers(maker, tmp_path):
    """It is given videos of both sides; its answers become a table."""
    text = "\n".join(comparison.compare(maker, [FOX], "walk", DeformationConfig(), tmp_path, 2))
    assert "has not judged yet" in text
    folder = tmp_path / "videophy"
    videos = sorted(folder.glob("*.mp4"))
    assert [video.stem.split("-")[-1] for video in videos] == ["akd", "field"]
    for kind, scores in (("sa", (5, 1)), ("pc", (3, 3))):
        assert (folder / f"{kind}.csv").read_text().count(".mp4") == 2
        rows = [f"{video.resolve()},{score}" for video, score in zip(videos, scores, strict=True)]
        (folder / f"{kind}-answers.csv").write_text("\n".join(["videopath,score", *rows]) + "\n")
    text = "\n".join(comparison.compare(maker, [FOX], "walk", DeformationConfig(), tmp_path, 2))
    assert "| AKD | 1.00 | 0.50 | 1 |" in text and "| deformation field | 0.00 | 0.50 | 1 |" in text


def test_takes_are_kept(maker):
    """The motion is the same, and no step is done again."""
    first = maker.by_joints(FOX, comparison.AKD)
    again = Maker(maker.results, "pixels", "it walks", 2, 0, lambda *_: pytest.fail("it was made again"))
    assert (again.by_joints(FOX, comparison.AKD).motion.strokes == first.motion.strokes).all()


def test_methods_differ_in_what_they_say(maker):
    """What each ablation leaves out is out."""
    changed = {method.title: method.change(maker.akd()) for method in ablations.of_the_paper(maker)}
    usual = changed["AKD"]
    assert changed["without L_ground"].score.ground == 0 < usual.score.ground
    assert changed["without L_smooth"].score.smooth == 0 < usual.score.smooth
    assert changed["without initial velocity"].glide == 0 < usual.glide
    assert changed["curves instead of raw angles"].score.harmonics
    ours = {method.title: method.change(maker.akd()) for method in ablations.of_ours(maker)}
    assert ours["with the pose space"].plausible and ours["with foot lock"].foot_lock
    assert len({str(config) for config in ours.values()}) >= len(ours) - 1, "tracks and videos are sampled alike"


@pytest.mark.parametrize("title", ["without ground rendering", "without shadow", "curves instead of raw angles"])
def test_ablations_of_the_paper(maker, title, tmp_path):
    methods = [method for method in ablations.of_the_paper(maker) if method.title in ("AKD", title)]
    text = "\n".join(ablations.ablate(maker, [FOX], "walk", methods, "Ablations"))
    assert f"| {title} |" in text and "pixels-shadow" in text
    with_, without = (maker.by_joints(FOX, method).motion.strokes for method in methods)
    assert abs(with_ - without).max() > 1e-6


def test_the_ground_is_not_drawn(maker):
    """Cameras follow all the same."""
    from gambol.distillation.animate import prepare

    problem = prepare(FOX.character, "it walks", maker.prior("pixels-shadow"), maker.akd(), FOX.anatomy)
    views = problem.renderer
    seen = views.render(problem.start.world(problem.rig))
    bare = views.without_ground().render(problem.start.world(problem.rig))
    assert seen[..., -1, :, :].std() > 0.02 > bare[..., 0, :, :].std()
    assert (bare[:, 0] - bare[:, -1]).abs().max() < 0.2, "it glides, and stays where it is in the picture"


def test_noise_of_other_papers(maker):
    for noise in ("inverted", "matched"):
        take = maker.by_joints(FOX, Method(noise, scored(noise=noise, steps=1)))
        assert take.calls == {"inverted": 2 + 10 * 2, "matched": 2 + 1}[noise]


def test_over_calls(maker, tmp_path):
    text = "\n".join(ablations.over_calls(maker, [FOX], "walk", tmp_path, budgets=(1.0, 2.0)))
    assert text.count("| score distillation |") == 2 and text.count("| sampling and fitting |") == 3
    assert (tmp_path / "calls-semantic.svg").exists() and maker.steps == 2


def test_physics(maker):
    text = "\n".join(physics.track_all(maker, [FOX], diversity.ours(maker), 1))
    assert "\n| feet slide [cm/s] |" in text and "1 characters" in text


def test_diversity(maker, tmp_path):
    ours = diversity.ours(maker)
    text = "\n".join(diversity.gaits([maker], [FOX], [ours]))
    assert "| fox | prior tracks | it walks | walk |" in text
    sits = Maker(maker.results, "pixels", "it sits down", 2, 0)
    text = "\n".join(diversity.sheets([(FOX, sits)], [Method("AKD"), ours], tmp_path, "Hard", "about"))
    assert "| AKD | – | – | " in text, "its prior does not know that"
    assert list(tmp_path.glob("fox-it_sits_down-*.png"))


def test_what_the_judge_does_not_know_has_no_sa(maker, tmp_path):
    points = Maker(maker.results, "pixels", "he points", 2, 0)
    human = Subject("human", "human")
    text = "\n".join(diversity.sheets([(human, points)], [diversity.ours(maker)], tmp_path, "Hard", "about"))
    row = next(line for line in text.splitlines() if "prior tracks" in line).split(" | ")
    assert row[2] == "–" and 0 <= float(row[3]) <= 1


def test_a_character_that_is_refused_is_left_out(maker, tmp_path):
    """With its reason, in every section."""
    howls = Maker(maker.results, "pixels", "it howls", 2, 0)
    for lines in (
        comparison.compare(howls, [FOX], "walk", DeformationConfig(), tmp_path),
        ablations.ablate(howls, [FOX], "walk", [Method("AKD")], "Ablations"),
        physics.track_all(howls, [FOX], Method("AKD"), 1),
    ):
        assert any("fox" in line and "howl" in line for line in lines), lines


def test_wins_know_which_side_is_better():
    keys = {column.key: column.better for column in COLUMNS}
    good, bad = ({key: 1.0 if better == "high" else 0.0 for key, better in keys.items()} for _ in range(2))
    bad = {key: 1 - value for key, value in bad.items()}
    for key, better in keys.items():
        assert wins([good, good], [bad, good], key) == (None if better == "neither" else (1, 1, 0))
    assert "| none | – |" in score_table({"none": [dict.fromkeys(keys)]}, ["semantic"])
