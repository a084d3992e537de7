"""The joint network: slots of rigs, samples to learn from, training, and what it says of a mesh."""

from functools import partial

import numpy as np
import pytest
import torch
from rigging.bare_meshes import animal, moved

import gambol
from gambol import GambolError, analyze
from gambol.character.coarse import joined
from gambol.character.skin import baked
from gambol.cli import main
from gambol.creatures.zoo import create
from gambol.errors import AssetError
from gambol.motion.chains import END, UPPER
from gambol.rigging.layout import Layout
from gambol.rigging.learned.model import JointModel, shipped_model
from gambol.rigging.learned.network import JointNetwork, JointNetworkConfig
from gambol.rigging.learned.placing import with_learned_joints
from gambol.rigging.learned.seen_skeleton import learned_skeleton
from gambol.rigging.learned.slots import INDEX, PARTNERS, PARTS, SLOTS, Slot, filled_slots
from gambol.rigging.learned.training import train as training_module
from gambol.rigging.learned.training.examples import example_of, varied
from gambol.rigging.learned.training.train import JointTraining, collated
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.options import RigOptions
from gambol.rigging.rig import rig_mesh
from gambol.rigging.solid import solid_of

TINY = JointNetworkConfig(width=16, heads=2, layers=1, slot_layers=1, points=64, patches=16, neighbours=4, offsets=2)
UP, FORWARD = np.array([0.0, 1, 0]), np.array([0.0, 0, 1])


@pytest.fixture(scope="module")
def fox():
    return example_of(create("fox"), "foxes")


def look(mesh, forward=FORWARD):
    return shipped_model().look(*joined(baked(mesh)), UP, forward)


def test_partners_are_the_same_place_on_the_other_side():
    assert np.array_equal(PARTNERS[PARTNERS], np.arange(len(SLOTS)))
    for slot, other in zip(SLOTS, PARTNERS, strict=True):
        assert (slot.side == "middle") == (SLOTS[other] == slot)
        assert (SLOTS[other].chain, SLOTS[other].rank, SLOTS[other].place) == (slot.chain, slot.rank, slot.place)


def test_slots_are_where_the_joints_of_a_rig_are():
    character = create("fox")
    anatomy = analyze(character)
    filled, names = filled_slots(anatomy), [character.skeleton.names[node] for node in anatomy.body.nodes]
    hind_hip = INDEX[Slot("leg", "left", 0, UPPER)]
    left_hind = anatomy.legs[anatomy.left_hind]
    assert filled.joints[hind_hip] in left_hind.chain
    np.testing.assert_allclose(filled.points[hind_hip], anatomy.body.heads[filled.joints[hind_hip]])
    front, hind = (filled.points[INDEX[Slot("leg", "left", rank, END)]] for rank in (1, 0))
    assert front @ anatomy.forward > hind @ anatomy.forward
    assert {PARTS[part][0] for part in filled.parts} >= {"trunk", "neck", "tail", "leg"}
    assert ("arm", 0) not in {PARTS[part] for part in filled.parts}
    for joint, slot in filled.of_joints.items():
        np.testing.assert_allclose(filled.points[slot], anatomy.body.heads[joint], atol=1e-6, err_msg=names[joint])


def test_slots_of_samples_go_with_the_flesh(fox):
    """The skin about a foot stays about it, and left stays left whichever way the body faces."""
    foot = INDEX[Slot("leg", "left", 1, END)]
    near = np.linalg.norm(fox.points - fox.slot_points[foot], axis=1).min()
    for seed in range(20):
        sample = varied(fox, 512, np.random.default_rng(seed))
        assert np.isfinite(sample.points).all() and np.ptp(sample.points, axis=0).max() < 1.6
        assert np.array_equal(sample.known, (fox.slot_joints >= 0)) or np.array_equal(
            sample.known, (fox.slot_joints >= 0)[PARTNERS]
        )
        for slot in (foot, PARTNERS[foot]):
            assert np.linalg.norm(sample.points - sample.places[slot], axis=1).min() < near + 0.08
        left, right = (sample.places[INDEX[Slot("leg", side, 1, UPPER)]] for side in ("left", "right"))
        ahead = sample.places[INDEX[Slot("neck", "middle", 0, 1)]] - sample.places[INDEX[Slot("trunk", "middle", 0, 0)]]
        assert (ahead[2] > 0) == sample.facing
        assert np.cross((0, 1, 0), ahead) @ (left - right) > 0


def test_losses_have_gradients_for_all_that_is_learned(fox):
    config = training_module.JointTrainConfig(network=TINY, batch=3)
    training = JointTraining(config)
    batch = collated([varied(fox, TINY.points, np.random.default_rng(seed)) for seed in range(3)])
    losses = training.losses(training.network, batch, torch.Generator())
    sum(losses.values()).backward()
    assert all(torch.isfinite(value) for value in losses.values())
    missing = [name for name, value in training.network.named_parameters() if value.grad is None]
    assert not missing


def test_a_network_learns_one_rig(fox):
    config = training_module.JointTrainConfig(network=TINY, batch=8, steps=60, warmup_steps=5)
    training = JointTraining(config)
    generator = np.random.default_rng(0)
    before, after = [], []
    for step in range(60):
        pair = [collated([varied(fox, TINY.points, generator) for _ in range(8)]) for _ in range(2)]
        (before if step < 5 else after).append(training.learn(pair)["places"])
    assert np.mean(after[-5:]) < 0.6 * np.mean(before)


def test_training_is_resumed_and_its_weights_are_read(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        training_module, "JointTrainConfig", partial(training_module.JointTrainConfig, network=TINY, batch=2)
    )
    rigs = tmp_path / "foxes"
    rigs.mkdir()
    gambol.save(create("fox"), rigs / "fox.glb")
    (rigs / "broken.glb").write_bytes(b"no glb")
    folder = tmp_path / "trained"
    arguments = ["train-rig", str(folder), "--rigs", str(rigs), "--creatures", "1", "--steps", "2"]
    main([*arguments, "--exclude", "foxes"])
    said = capsys.readouterr().out
    assert "left out" in said and "1 rigs to train on, 1 to validate on" in said
    assert '"facing"' in (folder / "log.jsonl").read_text()
    model = JointModel.load(folder / "weights.safetensors")
    assert sum(value.numel() for value in model.network.parameters()) < 100_000
    main([*arguments, "--exclude", "foxes"])
    assert "resuming after 2 steps" in capsys.readouterr().out
    for wrong, why in ((["--exclude", "dogs"], "there is no family 'dogs'"), (["--steps", "3"], "other settings")):
        with pytest.raises(SystemExit):
            main([*arguments[:6], *wrong] if wrong[0] == "--exclude" else [*arguments[:-1], "3"])
        assert why in capsys.readouterr().err


def test_weights_of_other_networks_are_refused(tmp_path):
    path = tmp_path / "weights.safetensors"
    JointModel(JointNetwork(TINY)).save(path, {})
    JointModel.load(path)
    path.write_bytes(path.read_bytes()[:-9] + b"123456789")
    with pytest.raises(AssetError, match="damaged"):
        JointModel.load(path)


@pytest.mark.parametrize("name", ["fox", "a man", "a duck"])
def test_the_shipped_network_knows_which_way_animals_face(name):
    mesh = animal(name)
    ahead, turned = look(mesh), look(moved(mesh, np.diag([-1.0, 1, -1])))
    assert ahead.vote > 0.5 and turned.vote < -0.5
    assert ahead.joints(FORWARD) is not None and ahead.joints(-FORWARD) is None
    np.testing.assert_allclose(
        turned.joints(-FORWARD).places * (-1, 1, -1), ahead.joints(FORWARD).places, atol=0.05 * ahead.size
    )


def test_the_shipped_network_is_deterministic_and_knows_scale_and_place():
    mesh = animal("fox")
    first, again = look(mesh).joints(FORWARD), look(mesh).joints(FORWARD)
    assert np.array_equal(first.places, again.places)
    other = look(moved(mesh, np.eye(3), 100.0, (5.0, -3.0, 2.0))).joints(FORWARD)
    np.testing.assert_allclose((other.places - (5.0, -3.0, 2.0)) / 100, first.places, atol=1e-3)
    assert first.has("leg", 1) > 0.9 and first.has("leg", 2) < 0.2 and first.has("arm") < 0.2


def test_joints_stay_mirror_images_and_inside(monkeypatch):
    """Of a symmetric body both sides go the same way, whatever the network says."""
    seen = {}

    def record(layout, guess, mirror, solid, size):
        before = layout.heads
        result = with_learned_joints(layout, guess, mirror, solid, size)
        seen.update(before=before, after=layout.heads, names=layout.names, mirror=mirror)
        return result

    monkeypatch.setattr("gambol.rigging.placement.with_learned_joints", record)
    rig_mesh(animal("fox"))
    moved_by = np.linalg.norm(seen["after"] - seen["before"], axis=1)
    assert moved_by.max() > 1e-3
    assert not moved_by[[name.endswith("_tip") or "_tip." in name for name in seen["names"]]].any()
    for joint, name in enumerate(seen["names"]):
        if name.endswith(".L"):
            partner = seen["names"].index(name[:-1] + "R")
            image = seen["mirror"].image(seen["before"][joint])
            if np.linalg.norm(image - seen["before"][partner]) < 1e-9:
                np.testing.assert_allclose(
                    seen["mirror"].image(seen["after"][joint]), seen["after"][partner], atol=1e-9
                )


@pytest.mark.parametrize("name, plan", [("fox", "quadruped"), ("a man", "biped"), ("spider", "eight legs")])
def test_the_network_alone_makes_a_skeleton(name, plan):
    rigged = rig_mesh(animal(name), RigOptions(method="network"))
    assert rigged.plan == plan and rigged.agreement is None
    names = rigged.character.skeleton.names
    assert len(set(names)) == len(names)


def test_templates_alone_do_not_ask_the_network(monkeypatch):
    monkeypatch.setattr("gambol.rigging.placement.shipped_model", lambda: 1 / 0)
    assert rig_mesh(animal("fox"), RigOptions(method="templates")).plan == "quadruped"


def test_options_of_templates_do_not_go_with_the_network_alone():
    with pytest.raises(GambolError, match="are for templates"):
        RigOptions(method="network", spine=3).check()


def test_arms_that_only_the_network_sees_are_added():
    mesh, mirror = animal("a man"), MirrorPlane(np.array([1.0, 0, 0]), 0.0, 1.0)
    seen = look(mesh)
    guess = seen.joints(FORWARD)
    whole, layout = learned_skeleton(guess, mirror, UP, FORWARD), Layout()
    for name, parent, point in zip(whole.names, whole.parents, whole.points, strict=True):
        if not name.startswith(("shoulder", "upper_arm", "forearm", "hand", "fingers")):
            layout.add(name, -1 if parent < 0 else layout.names.index(whole.names[parent]), point)
    learned = with_learned_joints(layout, guess, mirror, solid_of(*joined(baked(mesh))), seen.size)
    assert set(layout.names) == set(whole.names)
    assert any("arms do not stand apart" in note for note in learned.notes)
