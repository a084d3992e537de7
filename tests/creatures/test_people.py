"""Deeds of people: hands and feet that reach their goals, whatever pose the skin was bound in."""

from dataclasses import replace

import numpy as np
import pytest

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.character.transforms import rotation_about
from gambol.creatures.deeds import build_of, deeds_of, perform
from gambol.creatures.deeds.person_body import PersonBody
from gambol.creatures.deeds.two_links import two_links
from gambol.creatures.zoo import random_creature
from gambol.motion.chains import END, UPPER, find_chains
from gambol.motion.hallmarks import hallmark
from gambol.priors.tracks.formula_deeds import deed_tracks

X, Y, Z = np.eye(3)


@pytest.fixture(scope="module", params=(7, 8))
def person(request):
    found = analyze(random_creature(request.param, "humanoid").character())
    assert build_of(found) == "person"
    return found


def skin_heights(anatomy, world, kinds):
    """Height of the lowest skin of limbs of some kinds, or of the trunk with the head (""), in poses [leg lengths]."""
    body, limbs = anatomy.body, [limb for limb in anatomy.limbs if limb.kind in ("arm", "leg")]
    held = [joint for limb in limbs if limb.kind in kinds for joint in limb.joints]
    if "" in kinds:
        held += sorted(set(range(len(body))) - {joint for limb in limbs for joint in limb.joints})
    skin = np.flatnonzero(np.isin(body.owners, held))
    moved = world @ np.linalg.inv(body.T_world_node[body.nodes])
    points = np.einsum("fvij,vj->fvi", moved[:, body.owners[skin]], np.c_[body.vertices[skin], np.ones(len(skin))])
    return ((points[..., :3] @ anatomy.up).min(1) - anatomy.ground) / find_chains(anatomy).unit


def heads_of(anatomy, action, frames=48, seed=0):
    """Where joints are in a deed, in body axes [leg lengths]."""
    world = perform(anatomy, deeds_of(anatomy)[action], frames, np.random.default_rng(seed)).world
    return PersonBody(anatomy).seen(world[..., :3, 3])


def hands_of(anatomy, action, frames=48, seed=0):
    """The way from shoulder to wrist of each arm in a deed [arm lengths]."""
    body, heads = PersonBody(anatomy), heads_of(anatomy, action, frames, seed)
    last = [body.chains.chains[arm.number].joints[-1] for arm in body.arms]
    return [(heads[:, joint] - heads[:, arm.joint]) / arm.length for arm, joint in zip(body.arms, last, strict=True)]


def test_two_links_reach_what_is_in_reach_and_bend_to_the_side_asked_for():
    generator = np.random.default_rng(0)
    goal = generator.normal(size=(50, 3))
    goal *= generator.uniform(0.3, 1.6, (50, 1)) / np.linalg.norm(goal, axis=1, keepdims=True)
    bend = generator.normal(size=(50, 3))
    upper, lower = two_links(np.zeros((50, 3)), goal, bend, (X, 0.8 * X), -Y)
    assert np.allclose(upper @ X + lower @ (0.8 * X), goal, atol=1e-9)
    assert ((upper @ X) * (bend - (bend * goal).sum(1)[:, None] * goal / (goal**2).sum(1)[:, None])).sum(1).min() > 0
    assert np.allclose(np.linalg.det(upper), 1) and np.allclose(np.linalg.det(lower), 1)


def test_limbs_that_cannot_reach_stretch_towards_the_goal():
    upper, lower = two_links(np.zeros((1, 3)), 9 * Z[None], -Y[None], (X, X), -Y)
    end = (upper @ X + lower @ X)[0]
    assert 1.97 < end[2] < 2 and np.abs(end[:2]).max() < 1e-9


def test_every_deed_can_be_done_smoothly(person):
    for name, deed in deeds_of(person).items():
        heads = heads_of(person, name)
        assert np.isfinite(heads).all(), name
        assert np.abs(np.diff(heads, axis=0)).max() < 0.6, name
        assert heads[..., 1].min() > -0.1, name
        if deed.loops:
            aside = np.sign((heads[-1] - heads[0])[:, 0].mean())
            step = heads[0] + deed.travel * Z + aside * deed.sidle * X - heads[-1]
            assert np.abs(step).max() < 0.25, name


def rebound(anatomy, angle):
    """The same body with arms that are bound lower by an angle [rad]."""
    body = anatomy.body
    heads, tips, vertices, world = (x.copy() for x in (body.heads, body.tips, body.vertices, body.T_world_node))
    for arm in PersonBody(anatomy).arms:
        turned = rotation_about(anatomy.forward, np.array([-angle * arm.side]))[0]
        held, pivot = body.subtree(arm.joint), body.heads[arm.joint].copy()
        for points, which in ((heads, held), (tips, held), (vertices, np.isin(body.owners, held))):
            points[which] = (points[which] - pivot) @ turned.T + pivot
        nodes = body.nodes[held]
        world[nodes, :3, :3] = turned @ world[nodes, :3, :3]
        world[nodes, :3, 3] = (world[nodes, :3, 3] - pivot) @ turned.T + pivot
    return replace(anatomy, body=replace(body, heads=heads, tips=tips, vertices=vertices, T_world_node=world))


@pytest.mark.parametrize("angle", (-0.5, 0.4))
def test_bind_poses_make_no_difference(person, angle):
    other = rebound(person, angle)
    assert not np.allclose(other.body.heads, person.body.heads)
    for name in ("point", "throw", "clap", "crawl"):
        assert np.abs(heads_of(person, name) - heads_of(other, name)).max() < 0.03, name


def test_feet_that_stand_do_not_move(person):
    body = PersonBody(person)
    for name in ("point", "stretch", "throw", "punch", "dodge", "interact", "sit down", "sit", "sword", "cheer"):
        found = perform(person, deeds_of(person)[name], 60, np.random.default_rng(0))
        heads = body.seen(found.world[..., :3, 3])
        for number, leg in enumerate(body.legs):
            ankle = heads[:, body.chains.chains[leg.number].joints[-1]]
            down = (found.down[1:, number] > 0) & (found.down[:-1, number] > 0)
            moved = np.linalg.norm(np.diff(ankle, axis=0), axis=1)[down]
            assert down.any() and moved.max() < 0.03, name


def test_arms_hang_at_the_side_before_and_after(person):
    for name in ("point", "throw", "punch", "scratch", "sword", "cheer"):
        for way in hands_of(person, name):
            assert way[[0, -1], 1].max() < -0.6, name


def test_who_points_has_a_hand_ahead_at_the_height_of_the_shoulder(person):
    way = max(hands_of(person, "point"), key=lambda each: each[:, 2].max())
    middle = way[len(way) * 6 // 10]
    assert middle[2] > 0.65 and abs(middle[1]) < 0.2 and abs(middle[0]) < 0.25


@pytest.mark.parametrize("name", ("lie down", "fall", "sleep", "die"))
def test_who_lies_is_on_the_ground(person, name):
    world = perform(person, deeds_of(person)[name], 48, np.random.default_rng(0)).world[-1]
    body = person.body
    held = [joint for limb in person.limbs if limb.kind == "arm" for joint in limb.joints]
    skin = np.flatnonzero((body.owners >= 0) & ~np.isin(body.owners, held))
    moved = world @ np.linalg.inv(body.T_world_node[body.nodes])
    points = np.einsum("vij,vj->vi", moved[body.owners[skin]], np.c_[body.vertices[skin], np.ones(len(skin))])
    assert abs((points[:, :3] @ person.up).min() - person.ground) < 0.03 * person.height
    heads = PersonBody(person).seen(world[:, :3, 3])
    assert np.ptp(heads[list(PersonBody(person).chains.chains[0].joints), 1]) < 0.2


def test_who_crawls_is_on_hands_and_knees_that_stay_where_they_are(person):
    body, heads = PersonBody(person), heads_of(person, "crawl", 60)
    for limb in (*body.arms, *body.legs):
        joints = body.chains.chains[limb.number].joints
        end = heads[:, joints[-1] if limb in body.arms else joints[joints.index(limb.joint) + 1]]
        assert end[:, 1].min() < 0.2
        low = end[:, 1] < np.quantile(end[:, 1], 0.4)
        speed = np.diff(end[:, 2])[low[1:] & low[:-1]] * 60
        assert abs(np.median(speed)) < 0.35 * deeds_of(person)["crawl"].travel


def test_who_sits_down_keeps_both_feet_where_they_are(person):
    body, found = PersonBody(person), perform(person, deeds_of(person)["sit down"], 60, np.random.default_rng(0))
    heads = body.seen(found.world[..., :3, 3])
    assert found.down.all()
    for leg in body.legs:
        assert np.ptp(heads[:, body.chains.chains[leg.number].joints[-1]], axis=0).max() < 0.01


@pytest.mark.parametrize("name", ("sit down", "sit"))
def test_who_is_seated_has_level_thighs_and_hands_on_them(person, name):
    body = PersonBody(person)
    heads = heads_of(person, name)[-1]
    for leg, arm in zip(body.legs, body.arms, strict=True):
        joints = body.chains.chains[leg.number].joints
        hip, knee = heads[leg.joint], heads[joints[joints.index(leg.joint) + 1]]
        assert abs(knee[1] - hip[1]) < 0.12 and knee[2] - hip[2] > 0.35
        wrist = heads[body.chains.chains[arm.number].joints[-1]]
        assert knee[1] < wrist[1] < knee[1] + 0.3 and abs(wrist[0] - knee[0]) < 0.2
        assert hip[2] - 0.1 < wrist[2] < knee[2] + 0.1
    trunk = heads[list(body.chains.chains[0].joints)]
    assert abs(trunk[-1, 2] - trunk[0, 2]) < 0.3 * (trunk[-1, 1] - trunk[0, 1])


def test_who_sits_down_leans_forward_on_the_way(person):
    body, heads = PersonBody(person), heads_of(person, "sit down")
    joints = body.chains.chains[0].joints
    lean = (heads[:, joints[-1], 2] - heads[:, joints[0], 2]) / (heads[:, joints[-1], 1] - heads[:, joints[0], 1])
    assert lean[len(lean) * 2 // 5] > 0.5 + lean[0]


@pytest.mark.parametrize("seed", range(4))
def test_who_dies_lies_limp_and_still(person, seed):
    world = perform(person, deeds_of(person)["die"], 60, np.random.default_rng(seed)).world
    heights = {kind: skin_heights(person, world, (kind,)) for kind in ("", "arm", "leg")}
    for kind, height in heights.items():
        assert -0.06 < height[-1] < 0.08, kind
        assert height.min() > -0.2, kind
    heads = PersonBody(person).seen(world[..., :3, 3])
    assert heads[-1, :, 1].max() < 0.55
    assert np.abs(np.diff(heads[-9:], axis=0)).max() < 0.004


def test_seeds_choose_how_one_attacks(person):
    """With one hand, or with both above the head."""
    lower = [min(float(way[:, 1].max()) for way in hands_of(person, "attack", 40, seed)) for seed in range(8)]
    assert min(lower) < 0 and max(lower) > 0.5


def test_a_trunk_that_is_flat_lies_on_its_hips_even_with_a_large_head(person):
    body, joint = person.body, PersonBody(person).head[0]
    large, head = body.vertices.copy(), np.isin(body.owners, body.subtree(joint))
    large[head] = body.heads[joint] + 3 * (large[head] - body.heads[joint])
    other = replace(person, body=replace(body, vertices=large))
    lies = deeds_of(person)["die"]
    level = replace(lies, keys={goal: keys for goal, keys in lies.keys.items() if goal != "flat"})
    heights = []
    for deed in (lies, level):
        poses = perform(other, deed, 48, np.random.default_rng(0)).world
        stays = replace(other, body=replace(other.body, owners=np.where(head, -1, body.owners)))
        heights.append(skin_heights(stays, poses, ("",))[-1])
    assert heights[0] < 0.12 < heights[1]


def test_a_sword_comes_down_from_above_the_shoulder_across_the_body(person):
    body = PersonBody(person)
    way, arm = max(zip(hands_of(person, "sword", 60), body.arms, strict=True), key=lambda each: each[0][:, 1].max())
    up = int(way[:, 1].argmax())
    down = up + int((way[up:, 1] < -0.3).argmax())
    assert way[up, 1] > 0.5 and 20 < up < 32
    assert 4 <= down - up <= 14
    assert arm.side * (way[up, 0] - way[down, 0]) > 0.3


def test_who_cheers_pumps_both_hands_above_the_head(person):
    head = PersonBody(person).head[0]
    heads, body = heads_of(person, "cheer", 60), PersonBody(person)
    for arm in body.arms:
        above = heads[:, body.chains.chains[arm.number].joints[-1], 1] - heads[:, head, 1]
        tops = (above[1:-1] > above[:-2]) & (above[1:-1] >= above[2:]) & (above[1:-1] > 0)
        assert tops.sum() == 3


def test_hands_meet_in_a_clap(person):
    body, heads = PersonBody(person), heads_of(person, "clap")
    left, right = (heads[:, body.chains.chains[arm.number].joints[-1]] for arm in body.arms[:2])
    apart = np.linalg.norm(left - right, axis=1) / body.arms[0].length
    assert apart.min() < 0.3 and apart.max() > apart.min() + 0.25


def test_deeds_show_what_they_must(person):
    for name, deed in deeds_of(person).items():
        poses = perform(person, deed, 48, np.random.default_rng(0)).world
        assert hallmark(person, poses, ACTIONS[name]) >= 0.5, name


def head_of(anatomy, heads):
    """Where the head is [leg lengths]."""
    return heads[:, anatomy.joints_of("head")[0]]


@pytest.mark.parametrize("name", ("salute", "facepalm", "cry", "phone", "point"))
def test_hands_get_to_the_head(person, name):
    """In the middle of the deed, nearer than by three quarters of an arm; not of who points."""
    body, heads = PersonBody(person), heads_of(person, name)
    ends = [heads[:, body.chains.chains[arm.number].joints[-1]] for arm in body.arms]
    away = [np.linalg.norm(end - head_of(person, heads), axis=1) / body.arms[0].length for end in ends]
    assert (min(each[len(heads) // 2] for each in away) < 0.75) == (name != "point")
    assert min(each[0] for each in away) > 0.75 or name in ("cry", "phone")


def test_who_salutes_has_a_flat_hand_at_the_temple_and_the_elbow_out(person):
    body, deed = PersonBody(person), deeds_of(person)["salute"]
    world = perform(person, deed, 49, np.random.default_rng(0)).world
    middle = world[24:25]
    heads = body.seen(middle[..., :3, 3])[0]
    joint, offset, extent = body.head
    turned = body.chains.axes.T @ middle[0, joint, :3, :3] @ np.linalg.inv(
        person.body.T_world_node[person.body.nodes][joint, :3, :3]
    ) @ body.chains.axes  # fmt: skip
    skin = middle @ np.linalg.inv(person.body.T_world_node[person.body.nodes])
    arm = max(body.arms, key=lambda each: heads[body.chains.chains[each.number].joints[-1], 1])
    hand = person.body.subtree(body.chains.chains[arm.number].joints[-1])
    which = np.flatnonzero(np.isin(person.body.owners, hand))
    points = np.einsum(
        "vij,vj->vi", skin[0, person.body.owners[which]], np.c_[person.body.vertices[which], np.ones(len(which))]
    )
    seen = (body.seen(points[:, :3]) - heads[joint]) @ turned - offset  # as the head sees it
    out = arm.side * seen[:, 0] / extent[0]
    assert 0.6 < out.min() < 1.2 and seen[:, 2].max() < 1.2 * extent[2]  # beside the brow, and not across it
    assert -0.5 < (seen[:, 1] / extent[1]).mean() < 1.0
    elbow = heads[body.chains.chains[arm.number].joints[body.chains.chains[arm.number].stations.index(UPPER + 2)]]
    shoulder = heads[arm.joint]
    assert arm.side * (elbow - shoulder)[0] > 0.5 * np.linalg.norm(elbow - shoulder)


def test_who_picks_something_up_reaches_the_ground_and_stands_up_with_it(person):
    body, heads = PersonBody(person), heads_of(person, "pick up", 50)
    grips = [heads[:, body.chains.chains[arm.number].joints[-1], 1] for arm in body.arms]
    near = min(grips, key=lambda each: each[20])
    assert near[20] < 0.22 and near[-1] > 0.9
    hips = np.mean([heads[:, leg.joint, 1] for leg in body.legs], axis=0)
    assert hips[20] < 0.75 * hips[0] and hips[-1] > 0.98 * hips[0]


def test_hands_meet_in_prayer_and_go_up_in_surrender(person):
    body, heads = PersonBody(person), heads_of(person, "pray")
    left, right = (heads[:, body.chains.chains[arm.number].joints[-1]] for arm in body.arms[:2])
    assert (np.linalg.norm(left - right, axis=1) / body.arms[0].length).max() < 0.45
    assert all(way[-1, 1] > 0.2 for way in hands_of(person, "surrender"))
    assert all(way[-1, 1] > 0.6 for way in hands_of(person, "lift"))


def test_who_kneels_has_one_knee_on_the_ground(person):
    body, heads = PersonBody(person), heads_of(person, "kneel")
    chains = [body.chains.chains[leg.number].joints for leg in body.legs]
    knees = [heads[-1, joints[joints.index(leg.joint) + 1], 1] for joints, leg in zip(chains, body.legs, strict=True)]
    assert min(knees) < 0.15 and max(knees) > 0.3


def test_who_squats_and_lunges_lowers_the_hips(person):
    for name in ("squat", "lunge"):
        hips = heads_of(person, name)[:, PersonBody(person).legs[0].joint, 1]
        assert hips.min() < 0.75 * hips[0], name


def test_seeds_choose_the_side(person):
    hands = [np.ptp(heads_of(person, "point", 24, seed), axis=0) for seed in range(8)]
    body = PersonBody(person)
    left, right = (body.chains.chains[arm.number].joints[-1] for arm in body.arms[:2])
    assert len({bool(each[left, 2] > each[right, 2]) for each in hands}) == 2


@pytest.mark.parametrize("seed", range(4))
def test_who_steps_to_a_side_faces_ahead_and_legs_open_and_close(person, seed):
    deed = deeds_of(person)["sidestep"]
    found = perform(person, deed, 60, np.random.default_rng(seed))
    body, heads = PersonBody(person), heads_of(person, "sidestep", 60, seed)
    chains = [body.chains.chains[leg.number] for leg in body.legs]
    feet = [chain.joints[chain.stations.index(END)] for chain in chains]
    ankles = {leg.side: heads[:, foot, 0] for leg, foot in zip(body.legs, feet, strict=True)}
    apart, rest = ankles[1.0] - ankles[-1.0], {leg.side: body.at_rest[leg.joint][0] for leg in body.legs}
    assert apart.min() > 0.8 * (rest[1.0] - rest[-1.0])  # they never cross
    assert np.ptp(apart) > 0.8 * deed.sidle
    hips = np.mean([heads[:, leg.joint] for leg in body.legs], axis=0)
    assert abs(hips[-1, 0] - hips[0, 0]) == pytest.approx(deed.sidle, rel=0.1)
    for leg, down in zip(body.legs, found.down.T, strict=True):  # feet stand while the body moves
        assert 0.4 < down.mean() < 0.75
        stance = np.flatnonzero(down > 0.5)
        slid = np.abs(np.diff(ankles[leg.side]))[stance[:-1]][np.diff(stance) == 1]
        assert np.median(slid) < 0.15 * deed.sidle / 60
    hip = [heads[:, leg.joint] for leg in body.legs]
    across = (hip[0] - hip[1]) * np.sign(hip[0] - hip[1])[:, :1]
    assert np.abs(np.degrees(np.arctan2(across[:, 2], across[:, 0]))).max() < 8


def test_tracks_of_steps_to_a_side_travel_there():
    chains = find_chains(analyze(random_creature(7, "humanoid").character()))
    sides = set()
    for seed in range(6):
        tracks = deed_tracks(chains, "sidestep", np.random.default_rng(seed))
        way = float(tracks.path[-1, 0] - tracks.path[0, 0])
        assert abs(float(tracks.travel[0])) == pytest.approx(deeds_of(chains.anatomy)["sidestep"].sidle, rel=0.01)
        assert way * float(tracks.travel[0]) > 0 and abs(float(tracks.travel[1])) < 1e-3
        sides.add(way > 0)
    assert sides == {True, False}


def test_tracks_of_a_crawl_travel():
    chains = find_chains(analyze(random_creature(7, "humanoid").character()))
    tracks = deed_tracks(chains, "crawl", np.random.default_rng(0))
    assert tracks is not None and float(tracks.travel[1]) > 0.3
    assert deed_tracks(chains, "walk", np.random.default_rng(0)) is None
