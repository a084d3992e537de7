"""Lengths of bones and volumes of bodies, on changes that are known."""

from dataclasses import replace

import numpy as np
import pytest
from character.creatures import dog, human, spider
from character.solids import tube

from gambol import Character, Clip
from gambol.character.character import Mesh
from gambol.character.clip import Track
from gambol.character.skeleton import Pose, Skeleton
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.shape import bone_length_drift, find_closed_mesh, volume_drift

TIMES = np.linspace(0, 1, 5)


def track(character, name, path, *values):
    """Linear, through five keys in a second."""
    return Track(character.skeleton.names.index(name), path, TIMES, np.array(values, float))


def stretched(character, name, factor):
    """A joint at `factor` times its distance from its parent for a moment."""
    local = character.skeleton.rest.translation[character.skeleton.names.index(name)]
    return Clip("stretched", (track(character, name, "translation", *(local * f for f in (1, 1, factor, 1, 1))),))


def bent(character, *names):
    """Joints turned by 50 degrees and back."""
    half = np.radians([0, 25, 50, 25, 0]) / 2
    values = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1)
    return Clip("bent", tuple(track(character, name, "rotation", *values) for name in names))


@pytest.mark.parametrize("factor", [1.1, 0.8, 1.0])
def test_a_bone_that_is_stretched(factor):
    character = human()
    drift = bone_length_drift(normalize_clip(character, stretched(character, "shin.L", factor)))
    assert drift == pytest.approx(100 * abs(factor - 1), abs=1e-6)


@pytest.mark.parametrize("make", [dog, human, spider])
def test_turns_and_ways_stretch_nothing(make):
    character = make()
    root = character.skeleton.names[0]
    way = character.skeleton.rest.translation[0] + np.linspace(0, 2, 5)[:, None] * (0.3, 0.1, 1)
    clip = Clip(
        "way", (*bent(character, *character.skeleton.names[:-1]).tracks, track(character, root, "translation", *way))
    )
    assert bone_length_drift(normalize_clip(character, clip)) < 1e-6


def hung_on_control(character, control, place, *names):
    """With a joint more, which moves no skin and has no parent, and some joints hung under it."""
    skeleton, world = character.skeleton, character.skeleton.world()[:, :3, 3]
    chosen = np.isin(skeleton.names, names)
    local = np.where(chosen[:, None], world - place, skeleton.rest.translation)
    count = len(skeleton)
    rest = Pose(np.append(local, [place], 0), np.tile([1.0, 0, 0, 0], (count + 1, 1)), np.ones((count + 1, 3)))
    parents = np.append(np.where(chosen, count, skeleton.parents), -1)
    joints = np.append(skeleton.is_joint, True)
    return replace(character, skeleton=Skeleton((*skeleton.names, control), parents, rest, joints))


def test_a_foot_that_its_control_runs_away_with_stretches_the_leg():
    """The paw hangs on the hock, wherever the file keeps it; for a moment it is as far from the hock again."""
    place, hock = np.array([0.10, 0.03, -0.29]), np.array([0.10, 0.14, -0.32])
    character = hung_on_control(dog(), "IK.L", place, "hind_paw.L")
    for share in (0.0, 0.3, 1.0):
        way = np.array([0, 0.5, 1, 0.5, 0])[:, None] * share * (place - hock)
        clip = normalize_clip(character, Clip("away", (track(character, "IK.L", "translation", *(place + way)),)))
        assert bone_length_drift(clip) == pytest.approx(100 * share, abs=2)  # frames hardly miss the moment


def test_what_hangs_on_a_root_without_skin_is_no_bone():
    """Two roots get the joint above them, at the ground, as their parent: there the body moves as a whole."""
    character = hung_on_control(human(), "ground", np.zeros(3), "hips", "spine")
    clip = normalize_clip(character, stretched(character, "hips", 1.3))
    assert character.skeleton.names.index("ground") in clip.anatomy.body.nodes
    assert bone_length_drift(clip) < 1e-6
    assert bone_length_drift(normalize_clip(character, stretched(character, "shin.L", 1.3))) == pytest.approx(30, abs=1)


def test_without_bones_there_is_no_length():
    assert bone_length_drift(normalize_clip(*box_on_one_joint(*tube(0.2, 1.0, 8, 5)))) is None


def box_on_one_joint(points, faces):
    rest = Pose(np.zeros((1, 3)), np.array([[1.0, 0, 0, 0]]), np.ones((1, 3)))
    skeleton = Skeleton(("root",), np.array([-1]), rest, np.ones(1, bool))
    ones = np.ones((len(points), 1))
    mesh = Mesh("mesh", 0, points, faces, ones.astype(int) - 1, ones)
    clip = Clip("up", (Track(0, "translation", TIMES, np.linspace(0, 1, 5)[:, None] * (0, 1.0, 0)),))
    return Character("box", skeleton, (mesh,), np.zeros(1, int), np.eye(4)[None]), clip


@pytest.mark.parametrize("factor", [1.1, 0.9])
@pytest.mark.parametrize("make", [dog, human])
def test_a_body_that_swells(make, factor):
    character = make()
    scale = (track(character, character.skeleton.names[0], "scale", *np.tile(np.linspace(1, factor, 5)[:, None], 3)),)
    clip = normalize_clip(character, Clip("swells", scale))
    assert volume_drift(clip) == pytest.approx(100 * abs(factor**3 - 1), rel=1e-6)
    assert bone_length_drift(clip) == pytest.approx(100 * abs(factor - 1), rel=1e-6)


def test_a_body_that_turns_and_goes_keeps_its_volume():
    character = human()
    way = character.skeleton.rest.translation[0] + np.linspace(0, 40, 5)[:, None] * (0.3, 0.1, 1)
    clip = Clip("goes", (*bent(character, "hips").tracks, track(character, "hips", "translation", *way)))
    assert volume_drift(normalize_clip(character, clip)) < 1e-6


def test_a_sharp_bend_takes_volume_from_a_limb():
    """As linear blend skinning does: more, the sharper."""
    character = human()
    drift = [
        volume_drift(normalize_clip(character, replace(bent(character, *names), name="bend")))
        for names in (["forearm.L"], ["forearm.L", "forearm.R", "shin.L", "shin.R"])
    ]
    assert 0.001 < drift[0] < drift[1] < 3


def test_holes_are_closed_and_sheets_left_out():
    radius, length, around = 0.2, 2.0, 16
    volume = length * around / 2 * np.sin(2 * np.pi / around) * radius**2
    for caps in (True, False):
        clip = normalize_clip(*box_on_one_joint(*tube(radius, length, around, 9, caps=caps)))
        solid = find_closed_mesh(clip.skin)
        scale = clip.anatomy.height
        assert solid.volume(clip.skin.neutral[None])[0] * scale**3 == pytest.approx(volume, rel=1e-9)
        assert volume_drift(clip) < 1e-6
    sheet = np.array([[0, 0, 0], [1.0, 0, 0], [1, 1, 0], [0, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])
    assert volume_drift(normalize_clip(*box_on_one_joint(*sheet))) is None
    points, faces = tube(radius, length, around, 9)
    clip = normalize_clip(
        *box_on_one_joint(np.concatenate([sheet[0] + 5, points]), np.concatenate([sheet[1], faces + 4]))
    )
    assert len(find_closed_mesh(clip.skin).faces) == len(faces)


def test_a_mesh_turned_inside_out_has_the_same_volume():
    points, faces = tube(0.2, 2.0, 12, 5)
    volumes = []
    for each in (faces, faces[:, ::-1]):
        clip = normalize_clip(*box_on_one_joint(points, each))
        volumes.append(find_closed_mesh(clip.skin).volume(clip.skin.neutral[None])[0])
    assert volumes[0] == pytest.approx(volumes[1]) and volumes[0] > 0


def test_without_a_mesh_there_is_no_volume():
    character = replace(human(), meshes=())
    assert volume_drift(normalize_clip(character, bent(character, "shin.L"))) is None


def test_skin_is_that_of_the_character():
    """Also with morph targets that move, and with two meshes."""
    generator = np.random.default_rng(0)
    character = human()
    mesh = character.meshes[0]
    targets = generator.normal(0, 0.1, (2, len(mesh.positions), 3))
    morphed = replace(mesh, morph_positions=targets, morph_weights=np.array([0.3, 0.0]))
    character = replace(character, meshes=(mesh, morphed))
    weights = Track(mesh.node, "weights", TIMES, generator.uniform(size=(5, 2)))
    for tracks in ((), (weights,)):
        clip = Clip("bent", (*bent(character, "shin.L", "hips", "forearm.R").tracks, *tracks))
        normalized = normalize_clip(character, clip)
        skin = normalized.skin
        pose = clip.sample(character.skeleton, np.minimum(normalized.times[skin.frames], 1.0))
        expected = normalized.place(np.concatenate(character.vertices(pose), axis=1))
        np.testing.assert_allclose(skin.vertices, expected, atol=1e-9)
        assert skin.faces.max() == len(expected[0]) - 1
