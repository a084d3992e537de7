"""Gaits against what biomechanics says, measured back from the clip as a file would hold it."""

from functools import cache

import numpy as np
import pytest
from assets import asset_files, asset_name, needs_assets
from character.creatures import CLAY, GREY, dog, human, posed, snake, spider, turned

from gambol import Anatomy, Character, Clip, GambolError, analyze, load, save
from gambol.creatures.gaits import actions_for, gait, plan_gait
from gambol.creatures.gaits.footfalls import GRAVITY, table_for
from gambol.creatures.zoo import create
from gambol.motion.legs import legs_of
from gambol.priors.pixels.data.synthetic import gait_cycle


def ant() -> Character:
    middle = {
        "thorax": (None, (0, 0.3, 0.0), (0, 0.3, 0.15), 0.06, 0.05, GREY),
        "head": ("thorax", (0, 0.3, 0.17), (0, 0.28, 0.3), 0.06, 0.05, GREY),
        "abdomen": ("thorax", (0, 0.32, -0.05), (0, 0.36, -0.4), 0.08, 0.1, GREY),
    }
    left = {}
    for number, z in enumerate((0.3, 0.0, -0.3)):
        knee, foot = (0.3, 0.45, 0.08 + z * 0.8), (0.5, 0.02, 0.08 + z * 1.4)
        left[f"leg{number}_upper"] = ("thorax", (0.06, 0.3, 0.08 + z * 0.2), knee, 0.02, 0.018, GREY)
        left[f"leg{number}_lower"] = (f"leg{number}_upper", knee, foot, 0.018, 0.012, GREY)
    return CLAY["clay"]("ant", CLAY["both_sides"](middle, left))


CREATURES = {"dog": dog, "human": human, "spider": spider, "ant": ant}
NAMES_AND_ACTIONS = [
    (name, action)
    for name, legs in {"dog": 4, "human": 2, "spider": 8, "ant": 6}.items()
    for action in table_for(legs)
    if action != "turn right"
]


@cache
def analyzed(name: str) -> tuple[Character, Anatomy]:
    character = CREATURES[name]()
    return character, analyze(character)


@cache
def clip_of(name: str, action: str, **options) -> Clip:
    return gait(*analyzed(name), action, **options)


ON_GROUND = 0.0015
"""[m] A planted foot is raised by what its skin would sink, which changes a little while it rolls."""


class Feet:
    """Contact points of all legs over a clip, for a character scaled to a height of 1 m."""

    def __init__(self, character: Character, anatomy: Anatomy, clip: Clip, samples: int = 240):
        self.anatomy, self.legs = anatomy, anatomy.legs
        self.duration = clip.duration
        times = np.linspace(clip.start, clip.end, samples + 1)
        self.cycle = np.arange(samples + 1) / samples
        world = character.skeleton.world(clip.sample(character.skeleton, times))
        nodes = anatomy.body.nodes
        self.contacts = [
            np.stack([(world[:, nodes[j]] @ [*local, 1.0])[:, :3] for j, local in leg.contacts], axis=1)
            / anatomy.height
            for leg in self.legs
        ]
        if character.meshes:
            skin = np.concatenate(character.vertices(clip.sample(character.skeleton, times)), axis=1) @ anatomy.up
            skins = [skin[:, np.isin(anatomy.body.owners, leg.joints)].min(1) for leg in self.legs]
        else:
            skins = [(points @ anatomy.up).min(1) * anatomy.height for points in self.contacts]
        self.lowest = [(heights - anatomy.ground) / anatomy.height for heights in skins]

    def heights(self, leg: int) -> np.ndarray:
        """Of the lowest contact above where it is when planted [m]."""
        heights = self.contacts[leg] @ self.anatomy.up
        return (heights - heights.min(0)).min(1)

    def slide(self, leg: int) -> np.ndarray:
        """Horizontal speed between samples of the contact that moves least [m/s]: a sole may roll about heel or toe."""
        steps = np.diff(self.contacts[leg], axis=0)
        steps = steps - (steps @ self.anatomy.up)[..., None] * self.anatomy.up
        return np.linalg.norm(steps, axis=-1).min(1) / (self.duration / (len(self.cycle) - 1))

    def depth(self) -> float:
        """Of the deepest skin of any leg below the ground [m]."""
        return max(float(-heights.min()) for heights in self.lowest)

    def on_ground(self, leg: int) -> np.ndarray:
        return self.heights(leg) < ON_GROUND

    def touchdown(self, leg: int) -> float:
        """Part of the cycle, -0.5 to 0.5 for the first leg to land."""
        down = self.on_ground(leg)[:-1]
        return float(self.cycle[:-1][down & ~np.roll(down, 1)][0])


def planted(phase: float, duty: float, cycle: np.ndarray) -> np.ndarray:
    """Which steps between samples lie in stance."""
    since = (cycle[:-1] - phase + 1e-9) % 1.0
    return since + (cycle[1] - cycle[0]) <= duty + 1e-6


def slide_and_depth(character: Character, anatomy: Anatomy, clip: Clip, fps: float = 30.0) -> tuple[float, float]:
    feet = Feet(character, anatomy, clip, samples=max(round(clip.duration * fps * 4), 120))
    footfalls = table_for(len(anatomy.legs))[clip.name]
    pairs = len(anatomy.legs) // 2
    slides = [
        feet.slide(index)[planted(footfalls.phase(leg, pairs), footfalls.duty, feet.cycle)].max()
        for index, leg in enumerate(anatomy.legs)
    ]
    return max(slides), feet.depth()


@pytest.mark.parametrize("name, action", NAMES_AND_ACTIONS)
@pytest.mark.parametrize("speed", [1.0, 1.5])
def test_planted_feet_neither_slide_nor_sink(name, action, speed):
    slide, depth = slide_and_depth(*analyzed(name), clip_of(name, action, speed=speed))
    assert slide < 0.005, "0.5 cm/s at 1 m height, sampled at four times the frame rate"
    assert depth < 0.002


@pytest.mark.parametrize("options", [{"stride": 0.6}, {"stride": 1.5}, {"bounce": 0.3}, {"bounce": 2.0}, {"frames": 7}])
@pytest.mark.parametrize("name, action", [("dog", "walk"), ("human", "run"), ("dog", "jump"), ("spider", "walk")])
def test_nor_do_they_in_any_style(name, action, options):
    slide, depth = slide_and_depth(*analyzed(name), clip_of(name, action, **options))
    assert slide < 0.005
    assert depth < 0.002


def test_the_measure_of_sliding_finds_a_treadmill():
    character, anatomy = analyzed("dog")
    slide, _ = slide_and_depth(character, anatomy, gait(character, anatomy, "walk", in_place=True))
    assert slide > 0.3


LEGS = {
    "dog": ("LF", "RF", "LH", "RH"),
    "human": ("L", "R"),
    "ant": ("L1", "R1", "L2", "R2", "L3", "R3"),
    "spider": ("L1", "R1", "L2", "R2", "L3", "R3", "L4", "R4"),
}
TOUCHDOWNS = [
    ("dog", "walk", {"LH": 0, "LF": 0.25, "RH": 0.5, "RF": 0.75}),
    ("dog", "trot", {"LH": 0, "RF": 0, "RH": 0.5, "LF": 0.5}),
    ("dog", "pace", {"LH": 0, "LF": 0, "RH": 0.5, "RF": 0.5}),
    ("human", "walk", {"L": 0, "R": 0.5}),
    ("human", "run", {"L": 0, "R": 0.5}),
    ("human", "hop", {"L": 0, "R": 0}),
    ("ant", "walk", {"L3": 0, "R2": 0, "L1": 0, "R3": 0.5, "L2": 0.5, "R1": 0.5}),
    ("spider", "walk", {"L4": 0, "R3": 0, "L2": 0, "R1": 0, "R4": 0.5, "L3": 0.5, "R2": 0.5, "L1": 0.5}),
]


@pytest.mark.parametrize("name, action, expected", TOUCHDOWNS)
def test_feet_land_in_the_order_of_the_gait(name, action, expected):
    character, anatomy = analyzed(name)
    feet = Feet(character, anatomy, clip_of(name, action))
    for index, label in enumerate(LEGS[name]):
        late = (feet.touchdown(index) - expected[label] + 0.5) % 1.0 - 0.5
        assert abs(late) < 0.06, label  # the clay man's heel comes down first, ahead of its contact point


def test_a_gallop_lands_hind_feet_then_fore_feet_then_flies():
    character, anatomy = analyzed("dog")
    feet = Feet(character, anatomy, clip_of("dog", "gallop"))
    when = {label: (feet.touchdown(index) + 0.04) % 1.0 for index, label in enumerate(LEGS["dog"])}
    assert sorted(when, key=when.__getitem__) == ["LH", "RH", "LF", "RF"]
    assert _flying(feet).mean() > 0.08


DUTIES = [
    ("dog", "walk", 0.65),
    ("dog", "trot", 0.42),
    ("human", "walk", 0.62),
    ("human", "run", 0.33),
    ("ant", "walk", 0.58),
    ("spider", "walk", 0.58),
]


@pytest.mark.parametrize("name, action, duty", DUTIES)
def test_duty_factors(name, action, duty):
    character, anatomy = analyzed(name)
    feet = Feet(character, anatomy, clip_of(name, action))
    for index in range(len(anatomy.legs)):
        assert feet.on_ground(index).mean() == pytest.approx(duty, abs=0.06)  # toes leave the ground slowly


def _flying(feet: Feet) -> np.ndarray:
    return np.all([feet.heights(index) > 0.003 for index in range(len(feet.legs))], axis=0)


@pytest.mark.parametrize("name", CREATURES)
def test_a_jump_lifts_all_feet_and_a_walk_never_does(name):
    character, anatomy = analyzed(name)
    jump = Feet(character, anatomy, clip_of(name, "jump"))
    assert np.min([jump.heights(index) for index in range(len(anatomy.legs))], axis=0).max() > 0.06
    assert not _flying(jump)[:3].any(), "it lands at its first frame"
    assert not _flying(Feet(character, anatomy, clip_of(name, "walk"))).any()


@pytest.mark.parametrize("name", CREATURES)
def test_feet_lift_visibly_but_not_wildly_in_a_walk(name):
    character, anatomy = analyzed(name)
    feet = Feet(character, anatomy, clip_of(name, "walk"))
    stature = _stature(anatomy) / anatomy.height
    for index in range(len(anatomy.legs)):
        assert 0.06 * stature < feet.heights(index).max() < 0.3 * stature


def _hip_height(anatomy: Anatomy) -> float:
    return float(np.mean([anatomy.body.heads[leg.chain[0]] @ anatomy.up for leg in anatomy.legs[-2:]]) - anatomy.ground)


def _leg_length(anatomy: Anatomy) -> float:
    chains = [anatomy.body.heads[list(leg.chain)] for leg in anatomy.legs]
    ends = [anatomy.body.tips[leg.chain[-1]] for leg in anatomy.legs]
    bones = [np.diff(np.vstack([chain, end]), axis=0) for chain, end in zip(chains, ends, strict=True)]
    return float(np.mean([np.linalg.norm(leg, axis=1).sum() for leg in bones]))


def _stature(anatomy: Anatomy) -> float:
    hip = _hip_height(anatomy)
    return max(hip, 0.5 * _leg_length(anatomy)) if len(anatomy.legs) > 4 else hip


def joints_of(name: str, action: str, **options) -> np.ndarray:
    """World positions of the body's joints, 100 frames."""
    character, anatomy = analyzed(name)
    clip = clip_of(name, action, **options)
    times = np.linspace(clip.start, clip.end, 100)
    return character.skeleton.world(clip.sample(character.skeleton, times))[:, anatomy.body.nodes][..., :3, 3]


def bend_of_hip(joints: np.ndarray, chain: tuple[int, ...]) -> np.ndarray:
    way = joints[:, chain[1]] - joints[:, chain[0]]
    return np.arctan2(way[:, 2], -way[:, 1])


@pytest.mark.parametrize("name", ["dog", "human"])
def test_left_and_right_alternate_in_a_walk(name):
    *fore, left, right = (leg.chain for leg in analyzed(name)[1].legs)
    joints = joints_of(name, "walk", in_place=True)
    assert np.corrcoef(bend_of_hip(joints, left), bend_of_hip(joints, right))[0, 1] <= -0.6
    if fore:  # two bones of a foreleg must fold much in swing: its elbow says less than where its foot is
        feet = [joints[:, chain[-1], 2] - joints[:, chain[0], 2] for chain in fore]
        assert np.corrcoef(*feet)[0, 1] <= -0.6


def test_a_trot_moves_diagonals_together():
    chains = {label: leg.chain for label, leg in zip(LEGS["dog"], analyzed("dog")[1].legs, strict=True)}
    joints = joints_of("dog", "trot", in_place=True)
    ahead = {label: joints[:, chain[-1], 2] - joints[:, chain[0], 2] for label, chain in chains.items()}
    assert np.corrcoef(ahead["LH"], ahead["RF"])[0, 1] > 0.9
    assert np.corrcoef(ahead["LH"], ahead["LF"])[0, 1] < -0.6


def test_human_arms_swing_against_the_legs_and_the_head_stays_steady():
    character, anatomy = analyzed("human")
    node = {name: list(anatomy.body.nodes).index(i) for i, name in enumerate(character.skeleton.names[:-1])}
    joints = joints_of("human", "walk", in_place=True)
    hand, foot = joints[:, node["hand.L"], 2], joints[:, node["foot.L"], 2]
    assert np.corrcoef(hand, foot)[0, 1] < -0.6
    assert joints[:, node["hand.L"], 1].max() < 1.2, "arms hang, though they were modelled stretched out"
    assert np.ptp(joints[:, node["head"], 2]) < 0.1 * np.ptp(hand)


@pytest.mark.parametrize("action", ["walk", "jog", "run", "hop", "jump", "idle", "turn left"])
def test_human_knees_bend_forward(action):
    left, right = (leg.chain for leg in analyzed("human")[1].legs)
    joints = joints_of("human", action, in_place=True)
    left_axis = joints[:, left[0]] - joints[:, right[0]]
    for thigh, shin, foot, *_ in (left, right):
        upper, lower = joints[:, shin] - joints[:, thigh], joints[:, foot] - joints[:, shin]
        assert ((np.cross(upper, lower) * left_axis).sum(1) > 0).all()


@pytest.mark.parametrize("name, action", NAMES_AND_ACTIONS)
def test_the_last_key_is_the_first_one_stride_on(name, action):
    character, anatomy = analyzed(name)
    clip = clip_of(name, action)
    first, last = character.skeleton.world(clip.sample(character.skeleton, np.array([clip.start, clip.end])))
    joints = anatomy.body.nodes
    turn = np.eye(3)
    if action.startswith("turn"):
        turn = last[joints[0], :3, :3] @ first[joints[0], :3, :3].T
        assert 15 < np.degrees(np.arctan2(turn[0, 2], turn[0, 0])) < 70, "to its left"
    moved = last[joints, :3, 3] - first[joints, :3, 3] @ turn.T
    assert np.ptp(moved, axis=0).max() < 1e-5
    assert np.abs(last[joints, :3, :3] - turn @ first[joints, :3, :3]).max() < 1e-5
    if not (action == "idle" or action.startswith("turn")):
        assert moved[0] @ anatomy.forward > 0.2 * _hip_height(anatomy)
        assert np.abs(np.cross(moved[0], anatomy.forward)).max() < 1e-5


@pytest.mark.parametrize("name", CREATURES)
def test_in_place_clips_loop_exactly_and_smoothly(name):
    character, anatomy = analyzed(name)
    clip = gait(character, anatomy, "walk", in_place=True)
    step = 1e-4
    times = np.array([0, step, clip.end - step, clip.end])
    world = character.skeleton.world(clip.sample(character.skeleton, times))[:, anatomy.body.nodes][..., :3, 3]
    assert np.abs(world[3] - world[0]).max() < 1e-5
    assert np.abs((world[1] - world[0]) - (world[3] - world[2])).max() / step < 0.05, "no jerk where it loops"


@pytest.mark.parametrize("name", CREATURES)
def test_standing_moves_less_than_a_tenth_of_walking(name):
    def speed(action: str) -> float:
        clip, joints = clip_of(name, action, in_place=True), joints_of(name, action, in_place=True)
        return float(np.linalg.norm(np.diff(joints, axis=0), axis=-1).sum(0).mean() / clip.duration)

    assert 0 < speed("idle") < 0.1 * speed("walk")


def forward_speed(character: Character, anatomy: Anatomy, clip: Clip) -> float:
    ends = character.skeleton.world(clip.sample(character.skeleton, np.array([clip.start, clip.end])))
    return float((ends[1] - ends[0])[anatomy.body.nodes[0], :3, 3] @ anatomy.forward / clip.duration)


@pytest.mark.parametrize("name, fast", [("dog", "gallop"), ("human", "run"), ("spider", "run"), ("ant", "run")])
def test_speeds_have_the_froude_number_of_the_gait(name, fast):
    character, anatomy = analyzed(name)
    walk, run = (gait(character, anatomy, action, fps=480.0) for action in ("walk", fast))
    froude = [forward_speed(character, anatomy, m) ** 2 / (GRAVITY * _stature(anatomy)) for m in (walk, run)]
    table = table_for(len(anatomy.legs))
    assert froude == pytest.approx([table["walk"].froude, table[fast].froude], rel=0.03)
    assert froude[1] > 3 * froude[0]


def test_spiders_step_far_however_low_they_carry_the_body():
    anatomy = analyze(create("tarantula"))
    assert _hip_height(anatomy) < 0.45 * _leg_length(anatomy), "else this tells nothing"
    stride = np.linalg.norm(gait_cycle(anatomy, "walk").travel)
    assert 0.45 * _leg_length(anatomy) < stride < _leg_length(anatomy)


def test_speed_and_stride_are_factors():
    character, anatomy = analyzed("dog")
    usual, fast, short = (
        gait(character, anatomy, "walk", fps=480.0, **style) for style in ({}, {"speed": 1.3}, {"stride": 0.7})
    )
    speed = forward_speed(character, anatomy, usual)
    assert forward_speed(character, anatomy, fast) == pytest.approx(1.3 * speed, rel=0.02)
    assert forward_speed(character, anatomy, short) == pytest.approx(speed, rel=0.02)
    assert short.duration < 0.85 * usual.duration


def test_a_dog_four_times_as_large_takes_strides_four_times_as_long_in_twice_the_time():
    small, large = (turned(dog(), (1, 0, 0, 0), scale=scale) for scale in (1.0, 4.0))
    clips = [gait(each, analyze(each), "trot", fps=480.0) for each in (small, large)]
    assert clips[1].duration == pytest.approx(2 * clips[0].duration, rel=0.01)
    speeds = [forward_speed(each, analyze(each), clip) for each, clip in zip((small, large), clips, strict=True)]
    assert speeds[1] == pytest.approx(2 * speeds[0], rel=0.01)


@pytest.mark.parametrize("scale", [0.001, 100.0])
def test_characters_in_other_units_are_taken_to_be_a_metre_high(scale):
    character = turned(dog(), (1, 0, 0, 0), scale=scale)
    assert gait(character, analyze(character), "walk").duration == pytest.approx(
        clip_of("dog", "walk").duration, abs=0.05
    )


def test_it_walks_the_way_it_faces_from_any_rest_pose():
    quarter = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    character = turned(posed(dog(), seed=3, radians=0.15), quarter, scale=2.0)
    anatomy = analyze(character)
    assert np.allclose(anatomy.forward, [1, 0, 0], atol=1e-6)
    clip = gait(character, anatomy, "walk")
    assert forward_speed(character, anatomy, clip) > 0.5
    slide, depth = slide_and_depth(character, anatomy, clip)
    assert slide < 0.005
    assert depth < 0.002


def test_frames_set_the_length():
    assert gait(*analyzed("dog"), "trot", frames=16, fps=24.0).duration == pytest.approx(16 / 24)


def test_a_file_keeps_the_feet_planted(tmp_path):
    character, anatomy = analyzed("dog")
    save(character, tmp_path / "dog.glb", gait(character, anatomy, "trot"))
    saved = load(tmp_path / "dog.glb")
    slide, depth = slide_and_depth(saved, analyze(saved), saved.clips["trot"])
    assert slide < 0.005
    assert depth < 0.002


def test_actions_follow_from_the_body_plan():
    assert "pace" in actions_for(analyzed("dog")[1])
    assert {"walk", "jog", "run"} <= set(actions_for(analyzed("human")[1]))
    assert actions_for(analyze(snake())) == ()
    assert clip_of("human", "trot").name == "jog", "another word for the same"
    assert clip_of("dog", "run").name == "gallop"


def test_mistakes_are_named():
    character, anatomy = analyzed("human")
    with pytest.raises(GambolError, match=r"no action 'moonwalk' for a biped\. Available: walk, jog, run, hop"):
        gait(character, anatomy, "moonwalk")
    with pytest.raises(GambolError, match="stands on legs"):
        gait(snake(), analyze(snake()), "walk")
    with pytest.raises(ValueError, match=r"speed must be positive, got -1"):
        gait(character, anatomy, "walk", speed=-1)
    with pytest.raises(ValueError, match=r"frames must be at least 2, got 1"):
        gait(character, anatomy, "walk", frames=1)


@needs_assets
@pytest.mark.parametrize("path", asset_files(), ids=asset_name)
def test_real_characters_keep_their_feet_planted(path):
    character = load(path)
    if not actions_for(analyze(character)):
        pytest.skip("does not stand on legs")
    anatomy = analyze(character)
    for action in ("walk", actions_for(anatomy)[2]):
        slide, depth = slide_and_depth(character, anatomy, gait(character, anatomy, action))
        assert slide < 0.005
        assert depth < 0.002


@pytest.mark.parametrize("name", ["elephant", "hippo", "trex", "penguin", "crocodile", "ladybug"])
def test_the_zoo_keeps_its_feet_planted_and_its_skin_above_the_ground(name):
    character = create(name)
    anatomy = analyze(character)
    for action in ("walk", "hop"):
        clip = gait(character, anatomy, action, metres_per_unit=1.0)
        slide, depth = slide_and_depth(character, anatomy, clip)
        assert slide < 0.005, action
        assert depth < 0.002, action


def blocks(leg=0.3):
    """Four legs of one bone each below a large body."""
    middle = {
        "trunk": (None, (0, leg + 0.45, -0.4), (0, leg + 0.45, 0.4), 0.45, 0.45, GREY),
        "head": ("trunk", (0, leg + 0.7, 0.5), (0, leg + 0.7, 0.9), 0.3, 0.2, GREY),
    }
    left = {
        name: ("trunk", (0.25, leg, z), (0.25, 0.05, z), 0.1, 0.1, GREY)
        for name, z in (("fore", 0.45), ("hind", -0.45))
    }
    return CLAY["clay"]("blocks", CLAY["both_sides"](middle, left))


def test_legs_without_knees_swing_wide_and_stay_on_the_ground():
    anatomy = analyze(blocks(), forward="+z")
    assert len(anatomy.legs) == 4
    plan = plan_gait(anatomy, "walk")
    assert plan.stiff and plan.period > 0.3
    world = plan.world(np.arange(24) / 24)
    rest, legs = anatomy.body.T_world_node[anatomy.body.nodes], legs_of(anatomy)
    ends = []
    for leg in legs:
        turned = world[:, leg.links[0], :3, :3] @ np.linalg.inv(rest[leg.links[0], :3, :3]) @ anatomy.up
        swing = np.degrees(np.arctan2(turned @ anatomy.forward, turned @ anatomy.up))
        assert 35 < np.ptp(swing) < 80
        local = np.linalg.solve(rest[leg.links[-1]], np.append(leg.end, 1.0))
        ends.append((world[:, leg.links[-1]] @ local)[:, :3] @ anatomy.up - leg.end @ anatomy.up)
    assert np.abs(np.min(ends, axis=0)).max() < 0.01 * anatomy.height  # the lowest foot is on the ground
    sides = world[:, 0, :3, :3] @ np.linalg.inv(rest[0, :3, :3]) @ anatomy.left
    assert np.degrees(np.arcsin(np.ptp(sides @ anatomy.up))) > 5  # it rocks
