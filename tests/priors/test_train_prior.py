"""Training the pixel prior, small."""

import json
import os
import signal
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import snake

import gambol
from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.cli import main
from gambol.creatures.zoo import create
from gambol.errors import GambolError
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.clips import read_library
from gambol.priors.pixels.data.stroke_motion import stroke_motion_of
from gambol.priors.pixels.data.synthetic import gait_cycle
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.network import NetworkConfig, PixelNetwork
from gambol.priors.pixels.prior import PixelPrior, load_network, save_network
from gambol.priors.pixels.training.dataset import CLIPS, REPEATS, RETARGETED, BatchSampler, retargeted_motions
from gambol.priors.pixels.training.train import TrainConfig, Training, train, validation_error
from gambol.tensor_files import read_tensors

SMALL = NetworkConfig(size=20, patch=5, fine=24, local=1, width=64, depth=2, heads=2)


@pytest.fixture(scope="module")
def motions():
    anatomy = analyze(create("human"))
    figure = draw_stick_figure(anatomy)
    return [stroke_motion_of(figure, anatomy, gait_cycle(anatomy, gait)) for gait in ("walk", "run", "idle", "jump")]


def training(motions, **settings):
    config = TrainConfig(
        **{"videos": 16 * 40, "batch": 16, "warmup_steps": 5, "ema_decay": 0.9, "network": SMALL, **settings}
    )
    return Training(config, BatchSampler(motions, [], 20), motions)


def test_it_learns_to_move_when_told_how(motions):
    trained = training(motions, videos=16 * 100, seed=1)
    before = validation_error(trained.averaged(), trained.held_out)
    for _ in range(100):
        trained.advance()
    after = validation_error(trained.averaged(), trained.held_out)
    untold = replace(trained.held_out, words=torch.zeros_like(trained.held_out.words))
    assert after < 0.6 * before
    assert after < 0.9 * validation_error(trained.averaged(), untold), "words must help"


def test_the_same_seed_gives_the_same_weights_and_another_others(motions):
    trained = [training(motions, seed=seed) for seed in (0, 0, 1)]
    for one in trained:
        for _ in range(3):
            one.advance()
    same, again, other = (one.network.leave.weight for one in trained)
    assert torch.equal(same, again) and not torch.equal(same, other)


def test_a_stopped_training_goes_on_as_if_it_had_not_been(motions, tmp_path):
    whole = training(motions)
    for _ in range(6):
        whole.advance()
    first = training(motions)
    for _ in range(3):
        first.advance()
    first.save(tmp_path / "state.pt")
    second = training(motions)
    second.load(tmp_path / "state.pt")
    for _ in range(3):
        second.advance()
    assert second.step == 6
    for name, value in whole.network.named_parameters():
        assert torch.equal(value, dict(second.network.named_parameters())[name]), name
        assert torch.equal(whole.average[name], second.average[name]), name


def test_other_settings_cannot_go_on(motions, tmp_path):
    training(motions).save(tmp_path / "state.pt")
    with pytest.raises(GambolError, match="other settings"):
        training(motions, lr=1e-5).load(tmp_path / "state.pt")
    training(motions, videos=10_000).load(tmp_path / "state.pt")  # only longer


def test_the_error_is_logged_and_ctrl_c_loses_nothing(motions, tmp_path):
    def interrupt(done, total):
        if done >= 5:
            raise KeyboardInterrupt

    trained = training(motions)
    with pytest.raises(KeyboardInterrupt):
        train(trained, tmp_path, validate_every=2, on_step=interrupt)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [2, 4]
    assert all(np.isfinite([row["loss"], row["validation_error"]]).all() for row in rows)
    resumed = training(motions)
    resumed.load(tmp_path / "state.pt")
    assert resumed.step == 5


def test_batches_show_every_action(motions):
    sampler = BatchSampler(motions[:2], motions[2:], 20)
    seen = sampler.batch(np.random.default_rng(0), 64)
    assert set(seen.actions) == {"walk", "run", "stand", "jump"}
    assert seen.videos.shape == (64, 16, 20, 20, 3)
    assert 0.05 < seen.videos.square().mean() < 2, "about as strong as noise"
    weights = seen.weights()
    assert weights.min() == 1 and 5 < weights.max() <= 9


def test_artists_clips_and_characters_have_their_share(motions):
    synthetic, clips, retargeted = (
        [replace(motion, pace=pace) for motion in motions if motion.action in shown]
        for pace, shown in ((0.0, ("walk", "run", "stand")), (0.5, ("walk", "jump")), (1.0, ("walk", "run")))
    )
    sampler = BatchSampler(synthetic, clips, 20, retargeted)
    generator = np.random.default_rng(0)
    chosen = [sampler._choose(generator) for _ in range(2000)]
    shares = {
        action: [
            np.mean([motion.pace == pace for motion in chosen if motion.action == action]) for pace in (0.0, 0.5, 1.0)
        ]
        for action in ("walk", "run", "stand", "jump")
    }
    rest = 1 - CLIPS - RETARGETED
    assert shares["walk"] == pytest.approx([rest, CLIPS, RETARGETED], abs=0.06)
    assert shares["run"] == pytest.approx([rest / (rest + RETARGETED), 0, RETARGETED / (rest + RETARGETED)], abs=0.06)
    assert (shares["stand"], shares["jump"]) == ([1, 0, 0], [0, 1, 0])


def test_characters_of_clips_are_animated_in_synthetic_gaits(tmp_path):
    gambol.save(create("human"), tmp_path / "anna.glb")
    gambol.save(create("human"), tmp_path / "left_out.glb")
    gambol.save(snake(), tmp_path / "snake.glb")
    (tmp_path / "broken.glb").write_bytes(b"no")
    told = []
    library = read_library(tmp_path)
    motions = retargeted_motions(library, ["left_out"], 0, lambda done, total: told.append((done, total)))
    assert told == [(1, 1)] and any("broken" in reason for reason in library.skipped)
    counts = Counter(motion.action for motion in motions)
    assert counts["walk"] == counts["run"] == counts["stand"] == REPEATS
    assert len({motion.pace for motion in motions if motion.action == "walk"}) == REPEATS
    again = retargeted_motions(library, ["left_out"], 0, print)
    assert all(np.array_equal(one.points, other.points) for one, other in zip(motions, again, strict=True))


def test_a_training_may_begin_with_trained_weights(motions):
    first, second = training(motions), training(motions, seed=1)
    first.advance()
    second.begin_with(first.averaged())
    assert validation_error(second.averaged(), first.held_out) == validation_error(first.averaged(), first.held_out)
    assert all(torch.equal(value, first.average[name]) for name, value in second.network.named_parameters())
    second.advance()
    assert not torch.equal(second.average["leave.weight"], first.average["leave.weight"])
    with pytest.raises(GambolError, match="another shape"):
        second.begin_with(PixelNetwork(replace(SMALL, depth=1)))


def test_a_training_extends_weights_of_fewer_actions(motions, tmp_path):
    walks = [motion for motion in motions if motion.action == "walk"]
    first, second = training(walks), training(motions, seed=1)
    assert first.averaged().actions == ("walk",)
    save_network(first.averaged(), tmp_path / "weights.safetensors")
    second.begin_with(load_network(tmp_path / "weights.safetensors"))
    assert second.averaged().actions == tuple(second.sampler.actions) != ("walk",)
    at = list(ACTIONS).index("walk")
    torch.testing.assert_close(second.average["action"][at], first.average["action"][at], atol=1e-3, rtol=1e-3)
    assert torch.equal(second.average["action"][at + 1], second.average["action"][-1])
    second.advance()
    second.save(tmp_path / "state.pt")
    third = training(motions, seed=1)
    third.load(tmp_path / "state.pt")
    assert third.averaged().actions == second.averaged().actions


def test_a_state_of_another_table_cannot_go_on(motions, tmp_path, monkeypatch):
    training(motions).save(tmp_path / "state.pt")
    monkeypatch.setattr("gambol.priors.pixels.training.train.PIXEL_ACTIONS", dict(reversed(PIXEL_ACTIONS.items())))
    with pytest.raises(GambolError, match="other actions in the table"):
        training(motions).load(tmp_path / "state.pt")


def test_ctrl_c_within_a_step_waits_until_the_step_is_whole(motions, monkeypatch, tmp_path):
    whole, interrupted = training(motions), training(motions)
    whole.advance()
    usual = interrupted.optimizers[1].step

    def pressed():
        signal.raise_signal(signal.SIGINT)
        usual()

    monkeypatch.setattr(interrupted.optimizers[1], "step", pressed)
    with pytest.raises(KeyboardInterrupt):
        train(interrupted, tmp_path)
    assert interrupted.step == 1 and (tmp_path / "state.pt").exists()
    assert all(torch.equal(value, interrupted.average[name]) for name, value in whole.average.items())


def test_other_motions_cannot_go_on(motions, tmp_path):
    training(motions).save(tmp_path / "state.pt")
    with pytest.raises(GambolError, match="other creatures or clips"):
        training(motions[:3]).load(tmp_path / "state.pt")
    data = bytearray((tmp_path / "state.pt").read_bytes())
    data[len(data) // 2] ^= 1
    for broken in (bytes(data), b"", b"broken", bytes(data[:1000])):
        (tmp_path / "state.pt").write_bytes(broken)
        with pytest.raises(GambolError, match="it is damaged; delete it"):
            training(motions).load(tmp_path / "state.pt")
    if hasattr(os, "mkfifo"):
        for name, work in (("state.pt", lambda: training(motions).load(tmp_path / "state.pt")), ("log.jsonl", None)):
            (tmp_path / name).unlink(missing_ok=True)
            os.mkfifo(tmp_path / name)
            with pytest.raises(GambolError, match=r"not a (regular )?file"):
                work() if work else train(training(motions), tmp_path)


def test_a_loss_that_is_no_number_stops_the_training(motions):
    broken = training(motions)
    with torch.no_grad():
        broken.network.leave.bias.fill_(torch.nan)
    with pytest.raises(GambolError, match="the loss is nan"):
        broken.advance()


def test_the_command_trains_resumes_and_writes_weights(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ["train-prior", "small", "--prior", "pixels", "--videos", "8", "--creatures", "1", "--batch", "4"]
    main(few)
    assert "wrote small/weights.safetensors" in capsys.readouterr().out
    prior = PixelPrior.load(tmp_path / "small" / "weights.safetensors")
    assert prior.format.frames == (16,)
    few[5] = "12"
    main(few)
    assert "resuming after 8 videos" in capsys.readouterr().out
    main(["train-prior", "more", "--init-weights", "small/weights.safetensors", "--lr-decay", "1", *few[2:]])
    tuned = PixelPrior.load(tmp_path / "more" / "weights.safetensors").network.leave.weight
    torch.testing.assert_close(tuned, prior.network.leave.weight, rtol=0, atol=0.03)
    facts = json.loads(read_tensors(tmp_path / "more" / "weights.safetensors")[1]["facts"])
    assert (facts["videos"], facts["start"]) == (12, "weights.safetensors")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--videos", "0"], "--videos must be from 1 to 1,000,000,000, got 0"),
        (["--creatures", "0"], "creatures must be from 1 to 100,000"),
        (["--seed", "-1"], "--seed must be from 0 to 9,999"),
        (["--seed", "10000"], "--seed must be from 0 to 9,999"),
        (["--clips", "nowhere"], "is not a folder"),
        (["--clips", "empty"], "no clip in"),
        (["--clips", "empty", "--exclude", "Fox"], "no file of that name"),
        (["--lr-decay", "0"], "more than 0"),
        (["--init-weights", "empty"], "is not a file"),
        (["--init-weights", "nowhere.safetensors"], "there is no file"),
    ],
)
def test_the_command_refuses_nonsense(options, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit):
        main(["train-prior", "small", "--prior", "pixels", *options])
    assert says in capsys.readouterr().err
