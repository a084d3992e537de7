"""USD out: what is written is skinned by usd-core as by gambol, is valid, and is read again."""

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pxr", reason="needs usd-core")

from benchmark_modules import load_benchmark
from builder import PNG
from pxr import Usd, UsdGeom, UsdSkel
from test_create import random_binds, random_character, random_mesh, random_skeleton
from usd_stages import add_animation, add_mesh, add_skeleton, bind, new_stage

from gambol.character.anatomy import analyze
from gambol.character.character import Character, Material, Texture
from gambol.character.clip import Clip, Track
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.creatures.load import load
from gambol.errors import GambolError
from gambol.formats import save
from gambol.formats.usd.reader import read_stage

usd = load_benchmark("usd_skinning")
TIMES = np.array([0.0, 0.2, 0.5, 1.0])


def turns(character: Character, seed: int = 0, name: str = "wriggle") -> Clip:
    """Every node turns and moves; keys of the two at other times."""
    rng = np.random.default_rng(seed)
    tracks = []
    for node in range(len(character.skeleton)):
        rotation = rng.normal(size=(len(TIMES), 4))
        rotation /= np.linalg.norm(rotation, axis=1, keepdims=True)
        tracks.append(Track(node, "rotation", TIMES, rotation))
        places = character.skeleton.rest.translation[node] + 0.2 * rng.normal(size=(2, 3))
        tracks.append(Track(node, "translation", TIMES[[0, 3]], places))
    return Clip(name, tuple(tracks))


def write(character: Character, path: Path, clip: Clip | None = None) -> list[str]:
    lost: list[str] = []
    save(character, path, clip, lost=lost)
    return lost


def assert_as_by_usd(character: Character, clip: Clip, path: Path, close: float = 5e-6) -> None:
    times, theirs = usd.paths_by_usd(path)
    assert len(times) >= 4
    assert float(usd.distance(usd.paths_of(character, clip, times), theirs)) < close
    assert not usd.issues(path)


def read(path: Path) -> Character:
    scratch = path.parent / f"{path.name} files"
    scratch.mkdir()
    return read_stage(path, scratch)


def assert_same_motion(character: Character, again: Character, name: str, close: float = 1e-5) -> None:
    """Of meshes whose vertices are all used, which keep their order."""
    for time in (0.0, 0.1, 0.5, 0.9):
        posed = character.vertices(character.clips[name].sample(character.skeleton, time))
        for ours, theirs in zip(posed, again.vertices(again.clips[name].sample(again.skeleton, time)), strict=True):
            np.testing.assert_allclose(theirs, ours, atol=close * np.ptp(ours, axis=0).max())


@pytest.mark.parametrize("name", ["beast.usda", "beast.usdz"])
def test_any_skeleton(name, tmp_path):
    """Bones of any direction; sizes that differ and stay the same in all three axes are not lost in half precision."""
    character = random_character(3, nodes=9, roots=2)
    rest = replace(character.skeleton.rest, scale=np.tile([[0.013], [1.7], [1.0]], (3, 3)))
    character = replace(character, skeleton=replace(character.skeleton, rest=rest))
    clip = turns(character)
    assert write(character, tmp_path / name, clip) == []
    assert_as_by_usd(character, clip, tmp_path / name)
    again = read(tmp_path / name)
    assert (again.name, again.skeleton.names) == ("beast", ("beast", "body", "Skeleton", *character.skeleton.names))
    np.testing.assert_array_equal(again.skeleton.is_joint, [False, False, False, *[True] * 9])
    assert_same_motion(replace(character, clips={"wriggle": clip}), again, "wriggle")


def test_uneven_sizes_keep_three_digits(tmp_path):
    character = random_character(5, nodes=6)
    clip = turns(character)
    (said,) = write(character, tmp_path / "beast.usdc", clip)
    assert "half precision" in said
    assert_as_by_usd(character, clip, tmp_path / "beast.usdc", close=2e-3)


def test_nodes_that_are_bound_in_several_ways(tmp_path):
    """Two meshes have other inverse bind matrices for the same nodes, and one moves with a node as a whole."""
    rng = np.random.default_rng(1)
    skeleton = random_skeleton(rng, 6)
    skeleton = replace(skeleton, rest=replace(skeleton.rest, scale=np.ones((6, 3))))
    binds = np.concatenate([random_binds(rng, 6), random_binds(rng, 6), np.eye(4)[None]])
    meshes = (
        random_mesh(rng, 5, np.arange(6), 3, name="a"),
        random_mesh(rng, 5, np.arange(6, 12), 2, name="a"),
        random_mesh(rng, 2, np.array([12]), 1, name="b", skinned=False),
    )
    character = Character("beast", skeleton, meshes, np.array([*range(6), *range(6), 2]), binds)
    clip = turns(character)
    assert write(character, tmp_path / "beast.usdc", clip) == []
    assert_as_by_usd(character, clip, tmp_path / "beast.usdc")
    stage = Usd.Stage.Open(str(tmp_path / "beast.usdc"))
    assert [prim.GetName() for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)] == ["a", "a_2", "b"]
    assert_same_motion(replace(character, clips={"wriggle": clip}), read(tmp_path / "beast.usdc"), "wriggle")


def morphing() -> Character:
    """A mesh with blend shapes, one of which is seen at rest."""
    character = random_character(2, nodes=4)
    skeleton = replace(character.skeleton, rest=replace(character.skeleton.rest, scale=np.ones((4, 3))))
    offsets = np.random.default_rng(0).normal(size=(2, 30, 3)).astype(np.float32)
    mesh = replace(character.meshes[0], morph_positions=offsets, morph_weights=np.array([0.0, 0.75]),
                   morph_names=("big smile", "blink"))  # fmt: skip
    return replace(character, skeleton=skeleton, meshes=(mesh,))


def test_blend_shapes(tmp_path):
    character = morphing()
    weights = Track(3, "weights", TIMES, np.array([[0.0, 1.0], [1.0, 0.0], [-0.5, 0.5], [0.25, 0.0]]))
    clip = replace(turns(character), tracks=(*turns(character).tracks, weights))
    assert write(character, tmp_path / "beast.usda", clip) == []
    assert_as_by_usd(character, clip, tmp_path / "beast.usda")
    again = read(tmp_path / "beast.usda")
    assert again.meshes[0].morph_names == ("big_smile", "blink")
    assert_same_motion(replace(character, clips={"wriggle": clip}), again, "wriggle")


def test_blend_shapes_that_are_seen_at_rest(tmp_path):
    character = morphing()
    write(character, tmp_path / "beast.usda")
    _, theirs = usd.paths_by_usd(tmp_path / "beast.usda")
    assert float(usd.distance(usd.paths_of(character, None, np.zeros(1)), theirs)) < 2e-6


def test_every_clip_is_there_and_one_is_bound(tmp_path):
    character = replace(random_character(0, nodes=5))
    clips = {name: turns(character, seed, name) for seed, name in enumerate(("walk", "run fast", "Run fast"))}
    character = replace(character, clips=clips)
    write(character, tmp_path / "all.usda")
    again = read(tmp_path / "all.usda")
    assert set(again.clips) == set(clips)
    stage = Usd.Stage.Open(str(tmp_path / "all.usda"))
    skeleton = UsdSkel.BindingAPI(stage.GetPrimAtPath("/beast/Skeleton"))
    choice = stage.GetDefaultPrim().GetVariantSet("clip")
    assert choice.GetVariantSelection() == "walk"
    for name in choice.GetVariantNames():
        choice.SetVariantSelection(name)
        assert skeleton.GetAnimationSource().GetName() == name
    write(character, tmp_path / "new.usda", turns(character, 9, "new"))
    stage = Usd.Stage.Open(str(tmp_path / "new.usda"))
    assert stage.GetDefaultPrim().GetVariantSet("clip").GetVariantSelection() == "new"
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, stage.GetTimeCodesPerSecond())


def test_curves_become_lines_and_are_said(tmp_path):
    character = random_character(0, nodes=4)
    step = Track(1, "rotation", TIMES, turns(character).tracks[0].values, "STEP")
    lost = write(character, tmp_path / "beast.usda", Clip("jump", (step,)))
    assert any("curves and steps became straight lines" in each for each in lost)


@pytest.mark.parametrize("name", ["beast.usdc", "beast.usdz"])
def test_materials_and_textures(name, tmp_path):
    rng = np.random.default_rng(0)
    skin = Material("skin é", (1.0, 0.5, 0.25, 1.0), Texture(PNG, "image/png", "skin"), (33071, 10497), 0.5, 0.25)
    glass = Material("glass", (0.25, 0.5, 1.0, 0.5), metallic=0.0, emissive=(0.5, 0.0, 0.0), alpha_mode="BLEND",
                     double_sided=True)  # fmt: skip
    skeleton = random_skeleton(rng, 3)
    uvs, normals = rng.uniform(size=(30, 2)).astype(np.float32), rng.normal(size=(30, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    meshes = (
        random_mesh(rng, 2, np.arange(3), 2, name="a", material=skin, uvs=uvs, normals=normals),
        random_mesh(rng, 2, np.arange(3), 2, name="b", material=glass),
    )
    character = Character("beast", skeleton, meshes, np.arange(3), random_binds(rng, 3))
    assert write(character, tmp_path / name) == []
    assert not usd.issues(tmp_path / name)
    a, b = read(tmp_path / name).meshes
    assert a.material == skin
    assert b.material == glass
    np.testing.assert_allclose(a.uvs, uvs, atol=1e-6)
    np.testing.assert_allclose(a.normals, normals, atol=1e-6)
    if name.endswith("z"):
        with zipfile.ZipFile(tmp_path / name) as package:
            assert package.namelist() == ["beast.usdc", "textures/skin.png"]
    else:
        assert (tmp_path / "beast_textures" / "skin.png").read_bytes() == PNG


def test_without_meshes(tmp_path):
    from gambol.formats.usd.load_save import save_usd

    character = random_character(0, nodes=4)
    save_usd(character, tmp_path / "bones.usda", [turns(character)], meshes=False)
    again = read(tmp_path / "bones.usda")
    assert (again.meshes, list(again.clips), again.skeleton.is_joint.sum()) == ((), ["wriggle"], 4)


def test_an_animal_of_the_zoo_is_understood_again(tmp_path):
    fox = load("fox")
    walk = gait(fox, analyze(fox), "walk")
    assert any("curves and steps became" in each for each in write(fox, tmp_path / "fox.usdz", walk))
    assert_as_by_usd(fox, walk, tmp_path / "fox.usdz", close=1e-4)
    again = read(tmp_path / "fox.usdz")
    found, known = analyze(again), analyze(fox)
    assert (found.plan, len(found.limbs)) == (known.plan, len(known.limbs))
    np.testing.assert_allclose(found.forward, known.forward)
    np.testing.assert_allclose(again.bounds, fox.bounds, atol=1e-5)
    np.testing.assert_allclose(again.meshes[0].colors, fox.meshes[0].colors, atol=1e-6)


def test_from_file_to_file_by_command(tmp_path, capsys):
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    add_animation(stage, skeleton)
    bind(add_mesh(stage), skeleton)
    stage.GetRootLayer().Save()
    main(["clip", str(tmp_path / "leg.usda"), "--speed", "2", "--name", "fast", "-o", str(tmp_path / "out.usdz")])
    assert "wrote" in capsys.readouterr().out
    again = read(tmp_path / "out.usdz")
    assert list(again.clips) == ["fast", "walk"]
    assert again.clips["fast"].duration == pytest.approx(again.clips["walk"].duration / 2, abs=1e-5)


def test_what_cannot_be_written_is_refused(tmp_path):
    character = random_character(0, nodes=4)
    with pytest.raises(GambolError, match="does not exist"):
        save(character, tmp_path / "missing" / "a.usdz", turns(character))
    assert list(tmp_path.iterdir()) == []
