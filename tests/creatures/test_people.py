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
from gambol.motion.chains import find_chains
from gambol.motion.hallmarks import hallmark
from gambol.priors.tracks.formula_deeds import deed_tracks

X, Y, Z = np.eye(3)


@pytest.fixture(scope="module", params=(7, 8))
def person(request):
    found = analyze(random_creature(request.param, "humanoid").character())
    assert build_of(found) == "person"
    return found


def heads_of(anatomy, action, frames=48, seed=0):
    """Where joints are in a deed, in body axes [leg lengths]."""
    world = perform(anatomy, deeds_of(anatomy)[action], frames, np.random.default_rng(seed)).world
    return PersonBody(anatomy).seen(world[..., :3, 3])


def hands_of(anatomy, action, frames=48):
    """The way from shoulder to wrist of each arm in a deed [arm lengths]."""
    body, heads = PersonBody(anatomy), heads_of(anatomy, action, frames)
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
            step = heads[0] + deed.travel * Z - heads[-1]
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
    for name in ("point", "stretch", "throw", "punch", "dodge", "interact"):
        found = perform(person, deeds_of(person)[name], 60, np.random.default_rng(0))
        heads = body.seen(found.world[..., :3, 3])
        for number, leg in enumerate(body.legs):
            ankle = heads[:, body.chains.chains[leg.number].joints[-1]]
            down = (found.down[1:, number] > 0) & (found.down[:-1, number] > 0)
            moved = np.linalg.norm(np.diff(ankle, axis=0), axis=1)[down]
            assert down.any() and moved.max() < 0.03, name


def test_arms_hang_at_the_side_before_and_after(person):
    for name in ("point", "throw", "punch", "scratch"):
        for way in hands_of(person, name):
            assert way[[0, -1], 1].max() < -0.6, name


def test_who_points_has_a_hand_ahead_at_the_height_of_the_shoulder(person):
    way = max(hands_of(person, "point"), key=lambda each: each[:, 2].max())
    middle = way[len(way) * 6 // 10]
    assert middle[2] > 0.65 and abs(middle[1]) < 0.2 and abs(middle[0]) < 0.25


@pytest.mark.parametrize("name", ("lie down", "fall", "sleep"))
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


def test_hands_meet_in_a_clap(person):
    body, heads = PersonBody(person), heads_of(person, "clap")
    left, right = (heads[:, body.chains.chains[arm.number].joints[-1]] for arm in body.arms[:2])
    apart = np.linalg.norm(left - right, axis=1) / body.arms[0].length
    assert apart.min() < 0.3 and apart.max() > apart.min() + 0.25


def test_deeds_show_what_they_must(person):
    for name, deed in deeds_of(person).items():
        poses = perform(person, deed, 48, np.random.default_rng(0)).world
        assert hallmark(person, poses, ACTIONS[name]) >= 0.5, name


def test_seeds_choose_the_side(person):
    hands = [np.ptp(heads_of(person, "point", 24, seed), axis=0) for seed in range(8)]
    body = PersonBody(person)
    left, right = (body.chains.chains[arm.number].joints[-1] for arm in body.arms[:2])
    assert len({bool(each[left, 2] > each[right, 2]) for each in hands}) == 2


def test_tracks_of_a_crawl_travel():
    chains = find_chains(analyze(random_creature(7, "humanoid").character()))
    tracks = deed_tracks(chains, "crawl", np.random.default_rng(0))
    assert tracks is not None and float(tracks.travel[1]) > 0.3
    assert deed_tracks(chains, "walk", np.random.default_rng(0)) is None
