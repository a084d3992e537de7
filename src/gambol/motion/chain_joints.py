"""Which joints of a body make up its trunk, neck, tail and arms, and where a limb begins beyond its girdle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb, main_chain

HEAVY = 0.02
"""Joints of the trunk that move more of the skin than this belong to its chain [share of the skin]."""
NEAR_MIDDLE = 0.25
"""A joint is part of the girdle if it is this much nearer to the middle of the body than the next one."""


def ways_along(anatomy: Anatomy, joints: tuple[int, ...] | list[int]) -> list[Float[np.ndarray, 3]]:
    """From each joint of a chain to the next, and from the last to its tip [file units, world]."""
    body = anatomy.body
    points = [*body.heads[list(joints)], body.tips[joints[-1]]]
    return [after - before for before, after in pairwise(points)]


def without_girdle(anatomy: Anatomy, links: tuple[int, ...]) -> tuple[int, ...]:
    """The links without a first one that leads from the middle of the body to the shoulder or hip: it begins much
    nearer to the middle than the next one, and is short."""
    body = anatomy.body
    if len(links) < 3:
        return links
    across = [float(abs((body.heads[j] - body.heads[anatomy.partners[j]]) @ anatomy.left)) for j in links[:2]]
    lengths = np.linalg.norm(ways_along(anatomy, links), axis=1)
    return links[1:] if across[0] < NEAR_MIDDLE * across[1] and lengths[0] < 0.45 * lengths.sum() else links


def arm_joints(anatomy: Anatomy, limb: Limb) -> tuple[tuple[int, ...], int | None]:
    """Joints of upper arm and forearm, the two longest bones that follow each other, and the hand, if there is one."""
    chain = limb.chain
    chain = without_girdle(anatomy, chain)
    if len(chain) <= 2:
        return chain, None
    lengths = [float(np.linalg.norm(way)) for way in ways_along(anatomy, chain)]
    most = len(chain) - 1 if len(chain) > 3 else len(chain)
    upper = max(range(most - 1), key=lambda i: lengths[i] + lengths[i + 1])
    end = chain[upper + 2] if upper + 2 < len(chain) else None
    return chain[upper : upper + 2], end


def trunk_joints(anatomy: Anatomy) -> list[int]:
    """Joints from the hips to the shoulders along the tree."""
    body, parts = anatomy.body, anatomy.parts
    legs = anatomy.legs
    hind = [leg.chain[0] for leg in legs if leg.rank == max(each.rank for each in legs)]
    fore = [
        limb.chain[0]
        for limb in anatomy.limbs
        if limb.kind in ("arm", "wing", "fin") or (limb.kind == "leg" and limb.rank == 0)
    ]
    fore = [joint for joint in fore if joint not in hind]
    tails, necks = anatomy.joints_of("tail"), [j for j, part in enumerate(parts) if part in ("neck", "head")]
    back = _holder(body.parents, hind) if hind else _above_part(anatomy, tails)
    front = _above_part(anatomy, necks)
    if front is None:
        front = _holder(body.parents, fore) if fore else None
    root = int(np.flatnonzero(body.parents < 0)[0])
    trunk = [joint for joint, part in enumerate(parts) if part == "trunk"]
    if back is None:
        back = trunk[0] if trunk else root
    if front is None:
        front = back if hind and not trunk else max(trunk or [back], key=lambda j: len(body.above(j)))
    return _with_heavy_ends(anatomy, _path(body.parents, back, front))


def _with_heavy_ends(anatomy: Anatomy, path: list[int]) -> list[int]:
    """The path continued to joints of the trunk that move much skin, up the tree from its start or down from its
    end."""
    body = anatomy.body
    heavy = [j for j, part in enumerate(anatomy.parts) if part == "trunk" and body.mass[j] > HEAVY and j not in path]
    above = [joint for joint in body.above(path[0]) if joint in heavy]
    if above and not set(body.above(path[0])) & set(path):
        path = [*_path(body.parents, above[-1], path[0])[:-1], *path]
    while below := [joint for joint in heavy if body.parents[joint] == path[-1] and body.mass[joint] > 2 * HEAVY]:
        path = [*path, max(below, key=lambda joint: body.mass[joint])]
    return path


def _above_part(anatomy: Anatomy, joints: list[int]) -> int | None:
    """What the first joint of a part hangs on."""
    if not joints:
        return None
    parent = int(anatomy.body.parents[joints[0]])
    return parent if parent >= 0 else None


def line_up_from(parents: Int[np.ndarray, " joints"], joint: int) -> list[int]:
    """The joint and all above it."""
    found = [joint]
    while parents[found[-1]] >= 0:
        found.append(int(parents[found[-1]]))
    return found


def _holder(parents: Int[np.ndarray, " joints"], joints: list[int]) -> int | None:
    """The lowest joint that all these hang on."""
    lines = [line_up_from(parents, joint)[1:] for joint in joints]
    return next((joint for joint in lines[0] if all(joint in line for line in lines)), None) if lines else None


def _path(parents: Int[np.ndarray, " joints"], start: int, end: int) -> list[int]:
    """The way between two joints along the tree."""
    down = line_up_from(parents, end)
    up = line_up_from(parents, start)
    meet = next((joint for joint in up if joint in down), None)
    if meet is None:
        return [start]
    return [*up[: up.index(meet) + 1], *reversed(down[: down.index(meet)])]


def neck_joints(anatomy: Anatomy, trunk: tuple[int, ...]) -> list[int]:
    """Joints of the neck and those of the head that move most of its skin; what else hangs on them goes with them."""
    body, parts = anatomy.body, anatomy.parts
    heads = anatomy.joints_of("head")
    ends = heads[:1] or anatomy.joints_of("neck")[-1:]
    if not ends:
        return []
    line = [
        joint
        for joint in line_up_from(body.parents, ends[0])
        if parts[joint] in ("neck", "head") and joint not in trunk
    ]
    chain = line[::-1]
    skull = float(body.mass[heads].sum())
    while chain and (below := [joint for joint in body.children[chain[-1]] if body.mass[joint] > 0.3 * skull > 0]):
        chain.append(max(below, key=lambda joint: body.mass[joint]))  # as of a head that hangs on a control
    jaw = chain.index(anatomy.jaw.joint) if anatomy.jaw and anatomy.jaw.joint in chain else 0
    return chain[:jaw] if jaw else chain  # jaws open by themselves (`motion.jaws`)


def tail_joints(anatomy: Anatomy) -> list[int]:
    """Joints of the tail: the longest way from its first."""
    joints = anatomy.joints_of("tail")
    return main_chain(anatomy.body, joints[0]) if joints else []
