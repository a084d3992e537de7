"""What the user says about a body is taken as said: its plan, and which joints are which part."""

import numpy as np
import pytest
from creatures import bird, dog, fish, human, snake, spider, without_names
from test_anatomy import hung_elsewhere, legs, names_of

from gambol import GambolError, analyze
from gambol.character.annotation_file import read_annotations
from gambol.character.axes import axis_name


def kinds(character, anatomy):
    return {anatomy.limb_name(limb): names_of(character, anatomy, limb.chain)[0] for limb in anatomy.limbs}


def test_a_biped_plan_makes_the_hind_legs_legs_and_the_front_ones_arms():
    character = dog()
    anatomy = analyze(character, plan="biped")
    assert anatomy.plan == "biped"
    assert {name: chain[0] for name, chain in legs(character, anatomy).items()} == {
        "left leg": "thigh.L",
        "right leg": "thigh.R",
    }
    assert kinds(character, anatomy)["left arm"] == "upper_arm.L"


@pytest.mark.parametrize(
    ("creature", "plan", "said"),
    [
        (human, "quadruped", "quadruped"),
        (human, "winged-biped", "biped, winged"),
        (dog, "no-legs", "no legs"),
        (spider, "six-legs", "six legs"),
        (spider, "winged-six-legs", "six legs, winged"),
        (fish, "winged", "no legs, winged"),
        (bird, "quadruped", "quadruped"),
        (dog, "auto", "quadruped"),
    ],
)
@pytest.mark.parametrize("change", [lambda character: character, without_names])
def test_a_plan_decides_what_limbs_are(creature, plan, said, change):
    anatomy = analyze(change(creature()), plan=plan)
    assert anatomy.plan == said
    assert anatomy.stands == bool(anatomy.legs)


@pytest.mark.parametrize(
    ("creature", "plan", "message"),
    [
        (snake, "biped", "a plan with 2 legs needs 1 pair.s. of limbs, but this skeleton has 0; name where the legs"),
        (fish, "quadruped", "a plan with 4 legs needs 2 pair.s. of limbs, but this skeleton has 1"),
        (fish, "winged-biped", "a winged plan needs a pair of wings beside the legs"),
        (dog, "tripod", "a plan must be auto or one of biped, winged-biped, quadruped"),
    ],
)
def test_impossible_plans_say_why(creature, plan, message):
    with pytest.raises(GambolError, match=message):
        analyze(creature(), plan=plan)


def test_named_joints_are_taken_as_said():
    """The dog is told that it is the other way round: its tail is the head, and its hind legs are in front."""
    character = without_names(dog())
    real = list(dog().skeleton.names)

    def node(name):
        return f"node {real.index(name)}"

    parts = {
        "head": node("tail.1"),
        "tail": [node("neck"), node("head")],
        "left front leg": node("thigh.R"),
        "right front leg": node("thigh.L"),
        "left_hind-leg": node("upper_arm.R"),
    }
    anatomy = analyze(character, parts=parts)
    assert axis_name(anatomy.forward) == "-z" and anatomy.certainty == 1
    found = {anatomy.limb_name(leg): real[anatomy.body.nodes[leg.chain[0]]] for leg in anatomy.legs}
    assert found == {
        "left front leg": "thigh.R",
        "right front leg": "thigh.L",
        "left hind leg": "upper_arm.R",
        "right hind leg": "upper_arm.L",  # the mirror image of what was named
    }
    parts_by_name = {real[node]: part for node, part in zip(anatomy.body.nodes, anatomy.parts, strict=True)}
    assert {parts_by_name[name] for name in ("tail.1", "tail.2", "tail.3")} == {"head"}
    assert {parts_by_name[name] for name in ("neck", "head", "snout")} == {"tail"}


def test_one_pair_of_named_legs_makes_a_biped():
    character = dog()
    anatomy = analyze(character, parts={"left leg": "thigh.L"})
    assert list(legs(character, anatomy)) == ["left leg", "right leg"]
    assert kinds(character, anatomy)["right arm"] == "upper_arm.R"


def test_a_list_of_joints_hangs_each_on_the_one_before():
    """A file that keeps the shins under the trunk, where nothing but the user knows that they belong to the thighs."""
    odd = without_names(hung_elsewhere(dog(), {"shin.L": "chest", "shin.R": "chest"}))
    real = list(dog().skeleton.names)
    parts = {
        f"{side} hind leg": [f"node {real.index(f'{name}.{side[0].upper()}')}" for name in ("thigh", "shin", "hock")]
        for side in ("left", "right")
    }
    anatomy = analyze(odd, parts=parts)
    chains = {anatomy.limb_name(leg): [real[n] for n in anatomy.body.nodes[list(leg.chain)]] for leg in anatomy.legs}
    assert chains["left hind leg"] == ["thigh.L", "shin.L", "hock.L", "hind_paw.L"]
    assert chains["right hind leg"] == ["thigh.R", "shin.R", "hock.R", "hind_paw.R"]
    assert anatomy.plan == "quadruped"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"head": "hed"}, "there is no joint 'hed'. Available: hips, spine, chest"),
        ({"lefty": "head"}, "there is no part 'lefty'. Parts are named as in: head, neck, tail, left leg"),
        ({"left leg 3 of 2": "thigh.L"}, "there is no part 'left leg 3 of 2'"),
        ({"left leg": "tail.1"}, "the left leg has no mirror image among the joints: name the right leg as well"),
        ({"left leg": "thigh.L", "left hind leg": "shin.L"}, "do not fit together"),
        ({"head": "head", "tail": "head"}, "joint 'head' cannot be both head and tail"),
        ({"head": []}, "the head has no joints"),
        ({"left leg": ["shin.L", "thigh.L"]}, "must be listed from the body outwards"),
        (
            {"left front leg": "thigh.L", "left hind leg": "upper_arm.L"},
            "to a character that faces .z that is the left hind leg",
        ),
        ({"left front leg": "upper_arm.R"}, "the left front leg cannot begin at 'upper_arm.R': .* the right front leg"),
    ],
)
def test_wrong_names_are_clear_errors(parts, message):
    with pytest.raises(GambolError, match=message):
        analyze(dog(), forward="+z" if "left front leg" in parts else None, parts=parts)


def test_a_plan_and_parts_must_agree():
    with pytest.raises(GambolError, match="a left leg is one of 2 legs, but the plan quadruped has 4"):
        analyze(dog(), plan="quadruped", parts={"left leg": "thigh.L"})


def test_repeated_names_are_told_apart_by_nodes():
    character = dog()
    names = tuple("bone" if "tail" in name else name for name in character.skeleton.names)
    object.__setattr__(character.skeleton, "names", names)
    first = names.index("bone")
    with pytest.raises(GambolError, match=f"3 joints are called 'bone': name it by its node, one of '#{first}'"):
        analyze(character, parts={"tail": "bone"})
    anatomy = analyze(character, parts={"tail": f"#{first}"})
    assert len(anatomy.joints_of("tail")) == 3


def test_annotation_files(tmp_path):
    toml, json = tmp_path / "dog.toml", tmp_path / "dog.json"
    toml.write_text('forward = "-z"\nplan = "biped"\nleft_hind_leg = ["thigh.L", "shin.L"]\nhead = 4\n')
    json.write_text('{"forward": "-z", "plan": "biped", "left hind leg": ["thigh.L", "shin.L"], "head": 4}')
    expected = {"forward": "-z", "plan": "biped", "parts": {"left hind leg": ("thigh.L", "shin.L"), "head": ("#4",)}}
    assert read_annotations(toml) == read_annotations(json) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "head = ", "cannot be read: Invalid value"),
        ("a.json", "[" * 100_000, "cannot be read: it is nested too deeply"),
        ("a.json", "[]", "must hold names of parts"),
        ("a.txt", "", "reads .toml and .json, got a.txt"),
        ("a.toml", "head = 1.5", "head must be the name of a joint or a list of names, got 1.5"),
        ("a.toml", "up = 1", "up must be a text, got 1"),
        ("a.toml", 'wheel = "x"', "there is no part 'wheel'"),
    ],
)
def test_broken_annotation_files_are_clear_errors(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(GambolError, match=message):
        read_annotations(tmp_path / name)


def test_nothing_said_changes_nothing():
    plain, empty = analyze(dog()), analyze(dog(), plan="auto", parts={})
    assert plain.parts == empty.parts and plain.limbs == empty.limbs
    assert np.array_equal(plain.partners, empty.partners)
