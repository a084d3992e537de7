"""Files to and from VideoPhy's scripts."""

import csv

import pytest

from gambol.bench.videophy import VideoScores, prompts, read_answers, refuse_weights, write_questions
from gambol.errors import GambolError


def test_prompts_are_those_of_each_version():
    semantic, physical = prompts("a fox walks", 1)
    assert semantic.endswith('Human: <|video|>\nHuman: Does this video entail the description: "a fox walks"?\nAI: ')
    assert "human and AI assistant." in physical and "follow the physical laws?" in physical
    semantic, physical = prompts("a fox walks", 2)
    assert 'description: "a fox walks"? Please rate' in semantic and "human and an AI assistant." in physical


def test_questions_are_read_as_csv(tmp_path):
    videos = {tmp_path / "a, b.mp4": 'a "quick" fox, walking', tmp_path / "c.mp4": "a man jumps"}
    for path, which in zip(write_questions(tmp_path / "asked", videos), (0, 1), strict=True):
        rows = list(csv.DictReader(path.open()))
        assert [row["videopath"] for row in rows] == [str(video) for video in videos]
        assert [row["caption"] for row in rows] == [prompts(sentence)[which] for sentence in videos.values()]


def test_answers_of_both_versions_are_from_0_to_1(tmp_path):
    video = tmp_path / "a.mp4"
    (tmp_path / "sa.csv").write_text(f",caption,videopath,score\n0,what,{video},5.0\n")
    (tmp_path / "pc.csv").write_text(f",caption,videopath,score\n0,what,{video},2\n")
    paths = tmp_path / "sa.csv", tmp_path / "pc.csv"
    assert read_answers(*paths, [video]) == {video: VideoScores(1.0, 0.25)}
    for path, value in zip(paths, (0.75, 0.5), strict=True):
        path.write_text(f"{video},what,{value}\n")
    assert read_answers(*paths, [video], version=1) == {video: VideoScores(0.75, 0.5)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no answer for"),
        ("videopath,score\nother.mp4,3\n", "has no answer for"),
        ("videopath,score\na.mp4,9\n", "out of range"),
        ("videopath,score\na.mp4,\n", "holds no answers"),
        ("videopath,caption\na.mp4,what\n", "holds no answers"),
    ],
)
def test_wrong_answers_are_refused(tmp_path, text, why):
    path = tmp_path / "sa.csv"
    path.write_text(text)
    with pytest.raises(GambolError, match=why):
        read_answers(path, path, [tmp_path / "a.mp4"])


def test_weights_are_refused_with_a_way_out(tmp_path):
    with pytest.raises(GambolError, match="no checkpoint"):
        refuse_weights(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "mplug-owl"}')
    with pytest.raises(GambolError, match="run its script there"):
        refuse_weights(tmp_path)
