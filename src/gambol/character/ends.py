"""The two ends of a body: head and tail, and the neck between head and trunk."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.character import names
from gambol.character.body import Body
from gambol.character.symmetry import Symmetry

CLEARLY = 0.06
"""An end of the body is ahead or behind if it is at least this far from the middle of the skin [body sizes]."""


@dataclass(frozen=True)
class Ends:
    """Joints of the middle of the body, each list from the trunk outwards; empty where there is no such part."""

    neck: list[int]
    head: list[int]
    tail: list[int]


def find_ends(
    body: Body,
    symmetry: Symmetry,
    up: Float[np.ndarray, "3"],
    front: Float[np.ndarray, "3"],
    forked: set[int],
    small: set[int],
    labels: list[str],
) -> Ends:
    """Tell the chain that ends in the head from the one that is the tail.

    A head carries pairs of small things, weight and height, and limbs leave the way to it; a tail is a long thin
    chain. front: direction in which the head is likely to be, shorter than 1 the less that is sure. `forked` are the
    joints where limbs leave, `small` those where ears and the like do.
    """
    middle = symmetry.partners == np.arange(len(body))
    leaves = [int(j) for j in np.flatnonzero(middle) if not any(middle[child] for child in body.children[j])]
    chains = [climb(body, leaf, forked | _junctions(body, middle)) for leaf in leaves]
    if not chains:
        return Ends([], [], [])
    if len(chains) == 1 and not forked:
        return _worm(body, up, climb(body, leaves[0], set(), with_root=True), labels)
    scores = [_headness(body, up, front, chain, forked, small, labels) for chain in chains]
    best = int(np.argmax(scores))
    before = set(climb(body, chains[best][-1], forked))  # what leads to the head is no tail
    elsewhere = {i: [joint for joint in chain if joint not in before] for i, chain in enumerate(chains) if i != best}
    tails = {i: scores[i] for i, chain in elsewhere.items() if chain and _is_tail(body, chain, labels)}
    tail = elsewhere[min(tails, key=lambda i: tails[i])] if tails else []
    if scores[best] <= 0 and _is_tail(body, chains[best], labels):
        return Ends([], [], _named_part(chains[best], labels, "tail"))
    stop = forked | set(body.above(tail[0]) if tail else [])
    neck, head = _split_neck(body, climb(body, chains[best][-1], stop), labels)
    return Ends(neck, head, _named_part(tail, labels, "tail"))


def with_named_ends(body: Body, ends: Ends, named: Mapping[str, tuple[int, ...]], forked: set[int]) -> Ends:
    """The ends with those that the user named; the neck is then what leads from the last limb to his head."""
    if not named:
        return ends
    said = {joint for chain in named.values() for first in chain[:1] for joint in body.subtree(first)}
    neck, head, tail = ([j for j in chain if j not in said] for chain in (ends.neck, ends.head, ends.tail))
    if "head" in named:
        head = list(named["head"])
        stop = forked | {joint for first in tail[:1] for joint in body.above(first)}
        above = climb(body, head[0], stop)[:-1]
        neck = [joint for joint in above if joint not in tail and joint not in said]
    neck, tail = list(named.get("neck", neck)), list(named.get("tail", tail))
    return Ends([joint for joint in neck if joint not in head], head, tail)


def with_head_in_front(
    body: Body,
    ends: Ends,
    up: Float[np.ndarray, "3"],
    forward: Float[np.ndarray, "3"],
    sure: bool,
    labels: list[str],
) -> Ends:
    """The ends as the facing has them, where no name says what they are. sure: whether the facing is.

    Without a head, what is taken for a tail but points forward is neck and head. On a body longer than high, what is
    taken for a head but points backward is the tail, as where the true head has no joint of its own.
    """
    front, behind = [*ends.neck, *ends.head], ends.tail
    if any(names.hint(labels[joint]) not in (None, "trunk") for joint in (*front, *behind)):
        return ends

    def ahead(chain: list[int]) -> float:
        """How far the skin of a chain is ahead of the middle of all [body sizes]."""
        skin = body.skin_of(chain)
        place = skin.mean(0) if len(skin) else body.tips[chain[-1]]
        return float((place - body.points[0].mean(0)) @ forward) / body.size

    if not front and behind and ahead(behind) > CLEARLY:
        return Ends(*_split_neck(body, behind, labels), [])
    lengthwise = np.ptp(body.points[0] @ forward) > np.ptp(body.points[0] @ up)
    if sure and lengthwise and front and not behind and ahead(front) < -CLEARLY:
        return Ends([], [], front)
    return ends


def climb(body: Body, leaf: int, stop: set[int], with_root: bool = False) -> list[int]:
    """The chain from a leaf up to, not including, the first joint to stop at or the root."""
    chain = [leaf]
    while (parent := int(body.parents[chain[-1]])) >= 0 and parent not in stop:
        if body.parents[parent] < 0 and not with_root:
            break
        chain.append(parent)
    return chain[::-1]


def _junctions(body: Body, middle: np.ndarray) -> set[int]:
    """Joints where the middle forks into branches of similar length; short twigs (a jaw, a belly) do not count."""
    found = set()
    for joint in np.flatnonzero(middle):
        lengths = sorted(body.reach[child] for child in body.children[joint] if middle[child])
        if len(lengths) > 1 and lengths[-2] > 0.5 * lengths[-1]:
            found.add(int(joint))
    return found


def _headness(
    body: Body,
    up: np.ndarray,
    front: np.ndarray,
    chain: list[int],
    forked: set[int],
    small: set[int],
    labels: list[str],
) -> float:
    spoken = [names.hint(labels[joint]) for joint in chain]
    score = 3.0 * ("head" in spoken or "neck" in spoken) - 3.0 * ("tail" in spoken) - 1.5 * ("fin" in spoken)
    members = {member for joint in chain for member in (joint, *body.children[joint])}
    score += 1.0 * bool(members & small)
    score += 0.5 * len(set(body.above(chain[0])[:-1]) & forked)
    score += float((body.tips[chain[-1]] - body.heads[0]) @ up) / body.size
    score += float(body.mass[chain[-2:]].sum() * 3)
    score += 2.0 * float((body.tips[chain[-1]] - body.heads.mean(0)) @ front) / body.size
    if forked:  # limbs leave near the head; a tail or an abdomen sticks out behind
        away = body.tips[chain[-1]] - body.heads[list(forked)].mean(0)
        score -= 2 * float(np.linalg.norm(away - up * (away @ up))) / body.size
    return score - 0.15 * max(len(chain) - 3, 0) - 1.5 * _taper(body, chain)


def _taper(body: Body, chain: list[int]) -> float:
    """How much thinner the last bone of a chain is than its first: 0 not at all, 1 comes to a point."""
    if len(chain) < 3:
        return 0.0
    # Heads end in small jaws and noses: the last three bones count together.
    first = _thickness(body, chain[0])
    last = float(np.mean([_thickness(body, joint) for joint in chain[-3:]]))
    return float(np.clip(1 - last / first, 0, 1)) if first > 0 else 0.0


def _thickness(body: Body, joint: int) -> float:
    """Mean distance of a joint's skin from its bone."""
    skin = body.skin_of([joint]) - body.heads[joint]
    axis = body.tips[joint] - body.heads[joint]
    axis = axis / max(np.linalg.norm(axis), 1e-30)
    return float(np.linalg.norm(skin - (skin @ axis)[:, None] * axis, axis=1).mean()) if len(skin) else 0.0


def _is_tail(body: Body, chain: list[int], labels: list[str]) -> bool:
    """Long and not the bulk of the body: two bones, a fifth of its size, and not called a head; or called a tail."""
    spoken = [names.hint(labels[joint]) for joint in chain]
    if "tail" in spoken:
        return True
    length = float(np.linalg.norm(body.tips[chain] - body.heads[chain], axis=1).sum())
    slender = len(chain) >= 2 and length > 0.2 * body.size and body.mass[chain].sum() < 0.35
    return slender and not {"head", "neck", "trunk"} & set(spoken)


def _named_part(chain: list[int], labels: list[str], part: str) -> list[int]:
    """The chain from the first joint that names the part; all of it if none does."""
    first = next((i for i, joint in enumerate(chain) if names.hint(labels[joint]) == part), 0)
    return chain[first:]


def _split_neck(body: Body, chain: list[int], labels: list[str]) -> tuple[list[int], list[int]]:
    """Neck and head: the head begins where a name says so, else with the last bones that hold 40 % of the chain's skin.

    A spine that runs on beyond the last limb is neck as well: it moves the head.
    """
    spoken = next(
        (i for i, joint in enumerate(chain) if {"head", "skull", "face"} & set(names.words(labels[joint]))), None
    )
    if spoken is not None:
        return chain[:spoken], chain[spoken:]
    held = np.cumsum(body.mass[chain][::-1])[::-1]
    first = int(np.flatnonzero(held >= 0.4 * held[0])[-1]) if held[0] > 0 else len(chain) - 1
    return chain[:first], chain[first:]


def _worm(body: Body, up: np.ndarray, chain: list[int], labels: list[str]) -> Ends:
    """A body that is one chain: the head is at the end named so, else at the upper or the thicker end."""
    spoken = [names.hint(labels[joint]) for joint in chain]
    ends = body.tips[chain[-1]] - body.heads[chain[0]]
    rise = float(ends @ up / max(float(np.linalg.norm(ends)), 1e-9))
    half = len(chain) // 2
    heavier = body.mass[chain[half:]].sum() > body.mass[chain[:half]].sum()
    outward = spoken[-1] == "head" or (spoken[-1] != "tail" and (rise > 0.7 or (abs(rise) <= 0.7 and heavier)))
    if len(chain) == 1:
        return Ends([], [], [])
    if outward:
        return Ends(*_split_neck(body, chain[1:], labels), [])
    return Ends([], chain[:1], chain[len(chain) - half :]) if abs(rise) <= 0.7 else Ends([], chain[:1], [])
