"""Training the pocket prior, small."""

import json
import signal
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import snake

import gambol
from gambol.character.anatomy import study
from gambol.cli import main
from gambol.creatures.zoo import create
from gambol.errors import GambolError
from gambol.priors.pocket.artists.clips import gather
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.network import NetworkConfig, PocketNetwork
from gambol.priors.pocket.prior import PocketPrior, facts_of
from gambol.priors.pocket.takes.herd import gait_cycle
from gambol.priors.pocket.takes.take import take_of
from gambol.priors.pocket.training.lessons import CLIPS, GUESTS, Teacher
from gambol.priors.pocket.training.school import VISITS, film_guests
from gambol.priors.pocket.training.train import TrainConfig, Training, measure_gate, train

SMALL = NetworkConfig(size=20, patch=5, fine=24, local=1, width=64, depth=2, heads=2)


@pytest.fixture(scope="module")
def takes():
    anatomy = study(create("human"))
    figure = draw_figure(anatomy)
    return [take_of(figure, anatomy, gait_cycle(anatomy, gait)) for gait in ("walk", "run", "idle", "jump")]


def training(takes, **settings):
    config = TrainConfig(**{"videos": 16 * 40, "batch": 16, "warm": 5, "average": 0.9, "network": SMALL, **settings})
    return Training(config, Teacher(takes, [], 20), takes)


def test_it_learns_to_move_when_told_how(takes):
    lesson = training(takes, videos=16 * 100, seed=1)
    before = measure_gate(lesson.averaged(), lesson.held_out)
    for _ in range(100):
        lesson.advance()
    after = measure_gate(lesson.averaged(), lesson.held_out)
    assert after.with_words < 0.6 * before.with_words
    assert after.with_words < 0.9 * after.without_words, "words must help"
    assert after.motionless == pytest.approx(before.motionless)


def test_the_same_seed_gives_the_same_weights_and_another_others(takes):
    trained = [training(takes, seed=seed) for seed in (0, 0, 1)]
    for one in trained:
        for _ in range(3):
            one.advance()
    same, again, other = (one.network.leave.weight for one in trained)
    assert torch.equal(same, again) and not torch.equal(same, other)


def test_a_stopped_training_goes_on_as_if_it_had_not_been(takes, tmp_path):
    whole = training(takes)
    for _ in range(6):
        whole.advance()
    first = training(takes)
    for _ in range(3):
        first.advance()
    first.save(tmp_path / "state.safetensors")
    second = training(takes)
    second.load(tmp_path / "state.safetensors")
    for _ in range(3):
        second.advance()
    assert second.step == 6
    for name, value in whole.network.named_parameters():
        assert torch.equal(value, dict(second.network.named_parameters())[name]), name
        assert torch.equal(whole.average[name], second.average[name]), name


def test_other_settings_cannot_go_on(takes, tmp_path):
    training(takes).save(tmp_path / "state.safetensors")
    with pytest.raises(GambolError, match="other settings"):
        training(takes, rate=1e-5).load(tmp_path / "state.safetensors")
    training(takes, videos=10_000).load(tmp_path / "state.safetensors")  # only longer


def test_the_gate_is_logged_and_ctrl_c_loses_nothing(takes, tmp_path):
    def interrupt(done, total):
        if done >= 5:
            raise KeyboardInterrupt

    lesson = training(takes)
    with pytest.raises(KeyboardInterrupt):
        train(lesson, tmp_path, gate_every=2, on_step=interrupt)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [2, 4]
    assert all(
        np.isfinite([row[key] for key in ("loss", "with_words", "without_words", "motionless")]).all() for row in rows
    )
    resumed = training(takes)
    resumed.load(tmp_path / "state.safetensors")
    assert resumed.step == 5


def test_the_teacher_shows_everything_it_has(takes):
    teacher = Teacher(takes[:2], takes[2:], 20)
    seen = teacher.lesson(np.random.default_rng(0), 64)
    assert set(seen.actions) == {"walk", "run", "stand", "jump"}
    assert seen.videos.shape == (64, 16, 20, 20, 3)
    assert 0.05 < seen.videos.square().mean() < 2, "about as strong as noise"
    weights = seen.weights()
    assert weights.min() == 1 and 5 < weights.max() <= 9


def test_artists_clips_and_characters_have_their_share(takes):
    herd, clips, guests = (
        [replace(take, pace=pace) for take in takes if take.action in shown]
        for pace, shown in ((0.0, ("walk", "run", "stand")), (0.5, ("walk", "jump")), (1.0, ("walk", "run")))
    )
    teacher = Teacher(herd, clips, 20, guests)
    generator = np.random.default_rng(0)
    chosen = [teacher._choose(generator) for _ in range(2000)]
    shares = {
        action: [np.mean([take.pace == pace for take in chosen if take.action == action]) for pace in (0.0, 0.5, 1.0)]
        for action in ("walk", "run", "stand", "jump")
    }
    rest = 1 - CLIPS - GUESTS
    assert shares["walk"] == pytest.approx([rest, CLIPS, GUESTS], abs=0.06)
    assert shares["run"] == pytest.approx([rest / (rest + GUESTS), 0, GUESTS / (rest + GUESTS)], abs=0.06)
    assert (shares["stand"], shares["jump"]) == ([1, 0, 0], [0, 1, 0])


def test_characters_of_clips_learn_our_gaits_too(tmp_path):
    gambol.save(create("human"), tmp_path / "anna.glb")
    gambol.save(create("human"), tmp_path / "left_out.glb")
    gambol.save(snake(), tmp_path / "snake.glb")
    (tmp_path / "broken.glb").write_bytes(b"no")
    told = []
    gathered = gather(tmp_path)
    takes = film_guests(gathered, ["left_out"], 0, lambda done, total: told.append((done, total)))
    assert told == [(1, 1)] and any("broken" in reason for reason in gathered.skipped)
    counts = Counter(take.action for take in takes)
    assert counts["walk"] == counts["run"] == counts["stand"] == VISITS
    assert len({take.pace for take in takes if take.action == "walk"}) == VISITS
    again = film_guests(gathered, ["left_out"], 0)
    assert all(np.array_equal(one.points, other.points) for one, other in zip(takes, again, strict=True))


def test_a_training_may_begin_with_trained_weights(takes):
    first, second = training(takes), training(takes, seed=1)
    first.advance()
    second.begin_with(first.averaged())
    assert measure_gate(second.averaged(), first.held_out) == measure_gate(first.averaged(), first.held_out)
    assert all(torch.equal(value, first.average[name]) for name, value in second.network.named_parameters())
    second.advance()
    assert not torch.equal(second.average["leave.weight"], first.average["leave.weight"])
    with pytest.raises(GambolError, match="another shape"):
        second.begin_with(PocketNetwork(replace(SMALL, depth=1)))


def test_ctrl_c_within_a_step_waits_until_the_step_is_whole(takes, monkeypatch):
    whole, interrupted = training(takes), training(takes)
    whole.advance()
    usual = interrupted.optimizers[1].step

    def pressed():
        signal.raise_signal(signal.SIGINT)
        usual()

    monkeypatch.setattr(interrupted.optimizers[1], "step", pressed)
    with pytest.raises(KeyboardInterrupt):
        interrupted.advance()
    assert interrupted.step == 1
    assert all(torch.equal(value, interrupted.average[name]) for name, value in whole.average.items())


def test_other_takes_cannot_go_on(takes, tmp_path):
    training(takes).save(tmp_path / "state.safetensors")
    with pytest.raises(GambolError, match="other creatures or clips"):
        training(takes[:3]).load(tmp_path / "state.safetensors")
    (tmp_path / "state.safetensors").write_bytes(b"broken")
    with pytest.raises(GambolError, match="delete it"):
        training(takes).load(tmp_path / "state.safetensors")


def test_a_loss_that_is_no_number_stops_the_training(takes):
    broken = training(takes)
    with torch.no_grad():
        broken.network.leave.bias.fill_(torch.nan)
    with pytest.raises(GambolError, match="the loss is nan"):
        broken.advance()


def test_the_command_trains_resumes_and_writes_weights(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ["train-prior", "small", "--videos", "8", "--creatures", "1", "--batch", "4"]
    main(few)
    assert "wrote small/weights.safetensors" in capsys.readouterr().out
    prior = PocketPrior.load(tmp_path / "small" / "weights.safetensors")
    assert prior.format.frames == (16,)
    assert (tmp_path / "small" / "samples-000002.png").exists()
    few[3] = "12"
    main(few)
    assert "going on after 8 videos" in capsys.readouterr().out
    main(["train-prior", "more", "--start", "small/weights.safetensors", "--cooling", "1", *few[2:]])
    tuned = PocketPrior.load(tmp_path / "more" / "weights.safetensors").network.leave.weight
    torch.testing.assert_close(tuned, prior.network.leave.weight, rtol=0, atol=0.03)
    facts = facts_of(tmp_path / "more" / "weights.safetensors")
    assert (facts["videos"], facts["start"]["videos"], facts["start"]["start"]) == (12, 12, None)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--videos", "0"], "at least 1"),
        (["--creatures", "0"], "1 to 100,000 creatures"),
        (["--seed", "-1"], "the seed must be"),
        (["--seed", "10000"], "the seed must be"),
        (["--clips", "nowhere"], "is not a folder"),
        (["--clips", "empty"], "no clip in"),
        (["--clips", "empty", "--without", "Fox"], "no file of that name"),
        (["--sheet-every", "-1"], "at least 0"),
        (["--cooling", "0"], "more than 0"),
        (["--start", "empty"], "is no pocket prior"),
        (["--start", "nowhere.safetensors"], "there is no file"),
    ],
)
def test_the_command_refuses_nonsense(options, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit):
        main(["train-prior", "small", *options])
    assert says in capsys.readouterr().err
