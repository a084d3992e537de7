import dataclasses

import numpy as np
import pytest
from assets import asset_files, assets_folder, needs_assets
from creatures import dog, even_table, fish, human, posed, snake, spider, turned, without_names

from gambol import GambolError, analyze, load
from gambol.character.axes import axis_name
from gambol.character.skeleton import Pose
from gambol.character.transforms import decompose
from gambol.errors import AssetError

QUARTER = np.sqrt(0.5)


def names_of(character, anatomy, joints):
    return [character.skeleton.names[anatomy.body.nodes[joint]] for joint in joints]


def legs(character, anatomy):
    return {anatomy.limb_name(leg): names_of(character, anatomy, leg.chain) for leg in anatomy.legs}


def test_dog():
    character = dog()
    anatomy = analyze(character)
    assert anatomy.plan == "quadruped"
    assert (axis_name(anatomy.up), axis_name(anatomy.forward)) == ("+y", "+z")
    assert anatomy.certainty > 0.9
    assert legs(character, anatomy) == {
        "left front leg": ["upper_arm.L", "forearm.L", "front_paw.L"],
        "right front leg": ["upper_arm.R", "forearm.R", "front_paw.R"],
        "left hind leg": ["thigh.L", "shin.L", "hock.L", "hind_paw.L"],
        "right hind leg": ["thigh.R", "shin.R", "hock.R", "hind_paw.R"],
    }
    assert names_of(character, anatomy, anatomy.joints_of("trunk")) == ["hips", "spine", "chest"]
    assert names_of(character, anatomy, anatomy.joints_of("neck")) == ["neck"]
    assert set(names_of(character, anatomy, anatomy.joints_of("head"))) == {"head", "snout", "ear.L", "ear.R"}
    assert names_of(character, anatomy, anatomy.joints_of("tail")) == ["tail.1", "tail.2", "tail.3"]


def test_human():
    character = human()
    anatomy = analyze(character)
    assert anatomy.plan == "biped"
    assert axis_name(anatomy.forward) == "+z"
    assert list(legs(character, anatomy)) == ["left leg", "right leg"]
    arms = [limb for limb in anatomy.limbs if limb.kind == "arm"]
    assert [limb.side for limb in arms] == ["left", "right"]
    assert names_of(character, anatomy, arms[0].chain) == ["upper_arm.L", "forearm.L", "hand.L"]
    assert names_of(character, anatomy, anatomy.joints_of("head")) == ["head"]


def test_spider_has_eight_legs_from_front_to_back():
    character = spider()
    anatomy = analyze(character)
    assert anatomy.plan == "eight legs"
    left = [names_of(character, anatomy, leg.chain)[0] for leg in anatomy.legs if leg.side == "left"]
    assert left == [f"leg{number}_upper.L" for number in range(4)]


def test_snake_has_a_head_and_no_legs():
    character = snake()
    anatomy = analyze(character)
    assert anatomy.plan == "no legs"
    assert axis_name(anatomy.forward) == "+z"
    assert names_of(character, anatomy, anatomy.joints_of("head"))[0] == "skull"
    assert names_of(character, anatomy, anatomy.joints_of("tail"))[-1] == "body9"


def test_fins_are_not_legs_though_they_are_lowest():
    anatomy = analyze(fish())
    assert anatomy.plan == "no legs"
    assert [limb.kind for limb in anatomy.limbs] == ["fin", "fin"]
    assert axis_name(anatomy.forward) == "+z"


@pytest.mark.parametrize("creature", [dog, human, snake, fish])
def test_geometry_alone_finds_legs_and_facing(creature):
    character = creature()
    named, nameless = analyze(character), analyze(without_names(character))
    assert np.allclose(named.forward, nameless.forward)
    assert [leg.chain for leg in named.legs] == [leg.chain for leg in nameless.legs]
    assert np.array_equal(named.partners, nameless.partners)


def hung_elsewhere(character, parents):
    """The character with other parents of nodes, by name, None for a root; every node stays where it is."""
    skeleton, names = character.skeleton, list(character.skeleton.names)
    changed = skeleton.parents.copy()
    for name, parent in parents.items():
        changed[names.index(name)] = -1 if parent is None else names.index(parent)
    world = skeleton.world()
    above = np.where((changed >= 0)[:, None, None], world[changed], np.eye(4))
    rest = Pose(*decompose(np.linalg.solve(above, world)))
    return dataclasses.replace(character, skeleton=dataclasses.replace(skeleton, parents=changed, rest=rest))


def test_a_trunk_that_hangs_on_a_leg_is_found():
    """As in files whose tree was guessed: the spine under a thigh, the right hind leg elsewhere than the left one."""
    whole = without_names(dog())
    odd = without_names(hung_elsewhere(dog(), {"chest": "thigh.L", "thigh.R": "chest"}))
    found, expected = analyze(odd), analyze(whole)
    assert found.plan == expected.plan == "quadruped"
    assert axis_name(found.forward) == "+z"
    chains = [{tuple(each.body.nodes[list(leg.chain)]) for leg in each.legs} for each in (found, expected)]
    assert chains[0] == chains[1]
    assert len(found.body.reparented) == 2


@pytest.mark.parametrize(("forward", "end"), [("+z", 1.0), ("-z", -1.0)])
def test_the_front_is_the_end_with_more_detail(forward, end):
    """Of a table with two equal ends, one of which has four times the vertices; glTF's convention speaks for +z."""
    table = without_names(even_table())
    (mesh,) = table.meshes
    more = np.flatnonzero(end * mesh.positions[:, 2] > 0.5)
    every = np.concatenate([np.arange(len(mesh.positions)), *[more] * 3])
    arrays = {name: getattr(mesh, name)[every] for name in ("positions", "binds", "weights")}
    detailed = dataclasses.replace(mesh, **arrays, normals=None, uvs=None, colors=None)
    anatomy = analyze(dataclasses.replace(table, meshes=(detailed,)))
    assert anatomy.plan == "quadruped" and axis_name(anatomy.forward) == forward


def test_paws_under_roots_of_their_own_belong_to_their_legs():
    """They turn about their middle, far from where the shin's skin ends."""
    folder = assets_folder()
    path = folder / "clips/quaternius-apocalypse/GermanShepherd.glb" if folder else None
    if path is None or not path.exists():
        pytest.skip("no such file: set GAMBOL_ASSETS to a folder that has it")
    character = load(path)
    found = legs(character, analyze(character))
    assert sorted(chain[-1] for chain in found.values()) == ["FF.L", "FF.R", "FFB.L", "FFB.R"]


def test_geometry_alone_finds_a_spiders_legs():
    """Which end of a spider is the head, nobody can tell from its bones: only the legs must be right."""
    named, nameless = analyze(spider()), analyze(without_names(spider()))
    assert {leg.chain for leg in named.legs} == {leg.chain for leg in nameless.legs}
    assert abs(named.forward @ nameless.forward) == pytest.approx(1)


@pytest.mark.parametrize("creature", [dog, human, spider])
@pytest.mark.parametrize(("wxyz", "forward"), [((QUARTER, 0, QUARTER, 0), "+x"), ((0, 0, 1, 0), "-z")])
@pytest.mark.parametrize("scale", [1.0, 100.0, 0.01])
def test_turning_the_character_turns_its_facing(creature, wxyz, forward, scale):
    character = creature()
    moved = turned(character, wxyz, scale)
    anatomy = analyze(moved)
    assert axis_name(anatomy.forward) == forward
    assert legs(moved, anatomy) == legs(character, analyze(character))
    assert anatomy.height == pytest.approx(scale * analyze(character).height, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("creature", [dog, human])
def test_a_rest_pose_in_mid_stride_changes_nothing(creature, seed):
    character = creature()
    still, moving = analyze(character), analyze(posed(character, seed))
    assert np.allclose(still.forward, moving.forward)
    assert [leg.chain for leg in still.legs] == [leg.chain for leg in moving.legs]
    assert still.parts == moving.parts


def test_lying_down_is_noticed():
    anatomy = analyze(turned(dog(), (QUARTER, QUARTER, 0, 0)))  # a quarter turn about x: y becomes z
    assert axis_name(anatomy.up) == "+z"
    assert axis_name(anatomy.forward) == "-y"
    assert len(anatomy.legs) == 4


def test_the_user_has_the_last_word():
    anatomy = analyze(dog(), forward="-z")
    assert axis_name(anatomy.forward) == "-z"
    assert anatomy.certainty == 1.0
    assert np.allclose(anatomy.left, (-1, 0, 0))
    with pytest.raises(GambolError, match=r"up \+z and forward -z must be different axes"):
        analyze(dog(), up="+z", forward="-z")


def test_contacts_are_on_the_ground_below_the_feet():
    character = dog()
    anatomy = analyze(character)
    for leg in anatomy.legs:
        assert 2 <= len(leg.contacts) <= 4
        assert character.skeleton.names[anatomy.body.nodes[leg.foot]].endswith(f"paw.{leg.side[0].upper()}")
        for joint, local in leg.contacts:
            point = anatomy.body.T_world_node[anatomy.body.nodes[joint]] @ (*local, 1.0)
            assert anatomy.ground <= point[1] < anatomy.ground + 0.03 * anatomy.height
            assert (point[0] > 0) == (leg.side == "left")


@pytest.mark.parametrize("corners", [((-10, 0, -10), (10, 0, -10), (10, 0, 10)), ((-9, -9, -9), (9, 9, -9), (0, 9, 9))])
def test_a_floor_or_a_skybox_is_no_part_of_the_body(corners):
    character = dog()
    skeleton = character.skeleton
    prop = dataclasses.replace(
        character.meshes[0],
        name="prop",
        positions=np.array(corners, np.float32),
        faces=np.array([[0, 1, 2]]),
        binds=np.full((3, 1), len(character.bind_nodes)),
        weights=np.ones((3, 1)),
        skinned=False,
        colors=None,
    )
    furnished = dataclasses.replace(
        character,
        meshes=(*character.meshes, prop),
        bind_nodes=np.append(character.bind_nodes, len(skeleton) - 1),
        inverse_binds=np.concatenate([character.inverse_binds, np.eye(4)[None]]),
    )
    found = analyze(furnished)
    assert found.plan == "quadruped"
    assert found.height == pytest.approx(analyze(character).height)
    assert found.ground == pytest.approx(analyze(character).ground)


def test_an_unknown_axis_is_a_clear_error():
    with pytest.raises(GambolError, match=r"must be auto or one of \+x, -x, .*got 'z'"):
        analyze(dog(), up="z")


def test_the_neutral_pose_stands_where_the_rest_pose_does():
    for seed in range(4):
        character = posed(human(), seed)
        assert analyze(character).ground == pytest.approx(character.bounds[0][1], abs=1e-6)


def test_left_and_right_are_partners():
    character = human()
    anatomy = analyze(character)
    for joint, partner in enumerate(anatomy.partners):
        name, other = names_of(character, anatomy, [joint, partner])
        assert other == (name.replace(".L", ".R") if ".L" in name else name.replace(".R", ".L"))


def test_nothing_to_animate_is_a_clear_error(tmp_path):
    empty = tmp_path / "empty.gltf"
    empty.write_text('{"asset": {"version": "2.0"}}')
    with pytest.raises(GambolError, match="neither joints nor meshes"):
        analyze(load(empty))


@needs_assets
@pytest.mark.parametrize("path", asset_files(), ids=lambda path: path.stem)
def test_real_characters_can_be_studied(path):
    try:
        character = load(path)
    except AssetError:
        pytest.skip("not readable")
    anatomy = analyze(character)
    assert len(anatomy.parts) == len(anatomy.body) == len(anatomy.partners)
    assert np.isfinite(anatomy.body.tips).all()


PLANS = {
    "Fox": "quadruped",
    "CesiumMan": "biped",
    "RiggedFigure": "biped",
    "HVGirl": "biped",
    "riggedMesh": "biped",
    "Knight": "biped",
    "RobotExpressive": "biped",
    "Wolf": "quadruped",
    "Horse": "quadruped",
    "Cow": "quadruped",
    "Alpaca": "quadruped",
    "Rat": "quadruped",
    "Trex": "biped",
    "Triceratops": "quadruped",
    "Apatosaurus": "quadruped",
    "Spider": "eight legs",
    "spider-animations": "eight legs",
    "horse-animations": "quadruped",
    "kaiju-animations": "biped",
    "bird-animations": "biped, winged",
    "dragon-animations": "quadruped, winged",
    "shark-animations": "no legs",
    "Whale": "no legs",
    "Shark": "no legs",
}


@needs_assets
@pytest.mark.parametrize("path", [p for p in asset_files() if p.stem in PLANS], ids=lambda path: path.stem)
def test_body_plans_of_real_characters(path):
    anatomy = analyze(load(path))
    assert anatomy.plan == PLANS[path.stem]
    assert axis_name(anatomy.forward) == "+z"  # as these files look to a person


def test_legs_that_own_no_skin_are_still_legs():
    """Joints with a little weight on vertices that the hips move most, as in a statue or a dress."""
    character = dog()
    mesh, names = character.meshes[0], character.skeleton.names
    leg = np.array(["thigh" in n or "shin" in n or "hock" in n or "paw" in n or "arm" in n for n in names])
    owners = mesh.binds[np.arange(len(mesh.binds)), mesh.weights.argmax(1)]
    held = leg[character.bind_nodes[owners]]
    binds = np.stack([np.where(held, 0, owners), owners], axis=1)
    bare = dataclasses.replace(mesh, binds=binds, weights=np.tile([0.9, 0.1], (len(binds), 1)))
    anatomy = analyze(dataclasses.replace(character, meshes=(bare,)))
    assert [anatomy.limb_name(limb) for limb in anatomy.legs] == ["left leg", "right leg"]  # others are named arms
    assert not any(limb.contacts for limb in anatomy.legs)


def test_feet_as_thin_as_a_sheet_say_nothing_about_the_facing():
    """All soles lie in one plane across the body, but for rounding: how long they are is noise."""
    character = dog()
    mesh = character.meshes[0]
    flat = mesh.positions * (1, 1, 1e-18)
    anatomy = analyze(dataclasses.replace(character, meshes=(dataclasses.replace(mesh, positions=flat),)))
    assert 0 <= anatomy.certainty <= 1
