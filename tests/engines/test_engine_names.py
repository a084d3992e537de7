import pytest

from gambol.character.lookup import free_clip_name
from gambol.engines.names import clip_name, joint_name, joint_notes
from gambol.engines.targets import ENGINES


@pytest.mark.parametrize(
    ("engine", "name", "loops", "taken", "expected"),
    [
        ("godot", "AnimalArmature|Walk", True, (), "Walk-loop"),
        ("godot", "walk-loop", True, (), "walk-loop"),
        ("godot", "walk loop", True, (), "walk-loop"),  # as `gambol clip --loop` calls it
        ("godot", "walk", True, ("Walk-loop",), "walk_1-loop"),  # Godot drops the mark: both would be 'walk'
        ("godot", "walk", True, ("A|walk",), "walk_1-loop"),
        ("godot", "hit", False, (), "hit"),
        ("godot", "loop the loop", False, (), "loop the loop-once"),
        ("godot", "motorcycle", False, (), "motorcycle-once"),
        ("godot", "a.b:c/d", False, (), "a_b_c_d"),
        ("unreal", "walk loop 30 fps", True, (), "walk_loop_30_fps"),
        ("unreal", "Walk", False, ("walk",), "Walk_1"),  # names of Unreal do not know case
        ("unity", "walk?", False, (), "walk_"),
        ("blender", "w" * 100, True, (), "w" * 59),
        ("blender", "é" * 40, False, (), "é" * 29),
        ("web", "Armature|run", True, ("walk",), "run"),
        ("web", "   ", True, (), "clip"),
    ],
)
def test_clip_names(engine, name, loops, taken, expected):
    assert clip_name(name, loops, taken, ENGINES[engine]) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_many_clips_are_all_different_and_safe(engine):
    row, taken = ENGINES[engine], []
    for name in ("walk", "Walk", "A|walk", "B|walk", "walk-loop", "walk.001", "w:a/l.k", "loop", "cycle", "") * 3:
        for loops in (True, False):
            found = clip_name(name, loops, taken, row)
            assert not set(found) & set(row.unsafe_in_clips) and len(found.encode()) <= row.longest_name
            assert found not in taken and free_clip_name(found, taken) == found
            taken.append(found)


def test_joint_names():
    assert joint_name("mixamorig:Left.Hand", ENGINES["web"]) == "mixamorigLeftHand"
    assert joint_name("mixamorig:Left.Hand", ENGINES["godot"]) == "mixamorig_Left.Hand"
    assert joint_name("mixamorig:Left Hand", ENGINES["unreal"]) == "mixamorig_Left_Hand"
    assert joint_name("hand.L", ENGINES["blender"]) == "hand.L"
    notes = list(joint_notes(["hand.L", "handL", "hips"], ENGINES["web"]))
    assert "'hand.L' and 'handL' are both 'handL' there" in notes[0] and "1 joints have other names" in notes[1]
    assert not list(joint_notes(["hand.L", "hips"], ENGINES["blender"]))
