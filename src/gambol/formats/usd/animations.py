"""Animations of USD as clips: what moves the scene is one clip, and so is every other animation of a skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from pxr import Usd, UsdSkel

from gambol.character.clip import Clip, Path, Track, continuous
from gambol.character.transforms import decompose
from gambol.errors import AssetError
from gambol.formats.usd.border import Border, checked, quaternions
from gambol.formats.usd.shapes import Shapes
from gambol.formats.usd.skeletons import UsdSkeleton
from gambol.text import printable, unique_name

MOST_VALUES = 20_000_000
"""Keys times joints of one animation; the same as for BVH."""
LONGEST = 1e6
"""Longest clip [s]; the same as for glTF."""
MOST_MOVED = 1000
"""Animations that are read, each counted once for every skeleton that it moves."""
SAME = 1e-6
"""Share by which a value may differ from the one at rest and still be that."""


def read_clips(
    stage: Usd.Stage,
    skeletons: Sequence[UsdSkeleton],
    animations: Sequence[Usd.Prim],
    shapes: Sequence[Shapes],
    moving: Sequence[Track],
    border: Border,
    warnings: list[str],
) -> dict[str, Clip]:
    """Clips by name: first what moves the scene as it is, then animations that are there and move nothing, each of the
    skeletons that have its joints; of several, those that are nearest to it in the tree of prims. moving: tracks of
    prims that move by themselves, in time codes."""
    bound = [(skeleton, skeleton.animation) for skeleton in skeletons]
    used = {str(animation.GetPath()) for _, animation in bound if animation}
    pairs: list[tuple[str, list[tuple[UsdSkeleton, Usd.Prim]]]] = []
    first = [(skeleton, animation) for skeleton, animation in bound if animation]
    if first or moving:
        several = len(used) != 1
        pairs.append(
            (_label(stage.GetDefaultPrim() or stage.GetPseudoRoot()) if several else _label(first[0][1]), first)
        )
    fitting = _Fitting(skeletons, shapes)
    room = MOST_MOVED - len(first)
    for animation in animations:
        if str(animation.GetPath()) not in used:
            found = fitting.skeletons(animation)
            room -= max(1, len(found))
            if room < 0:
                warnings.append(f"animations move more than {MOST_MOVED:,} skeletons; those after that are left out")
                break
            pairs.append((_label(animation), [(skeleton, animation) for skeleton in found]))
    clips: dict[str, Clip] = {}
    reached: dict[str, int] = {}
    for number, (label, moved) in enumerate(pairs):
        name = unique_name(printable(label) or f"clip {number}", clips, reached)
        tracks = list(moving) if number == 0 and (first or moving) else []
        try:
            for skeleton, animation in moved:
                tracks += _tracks(UsdSkel.Animation(animation), skeleton, shapes, border)
            if tracks:
                clips[name] = Clip(name, _in_seconds(tracks, border))
        except AssetError as error:
            warnings.append(f"clip '{name}' cannot be read and is left out: {error}")
    return clips


class _Fitting:
    """Finds the skeletons that an animation is for."""

    def __init__(self, skeletons: Sequence[UsdSkeleton], shapes: Sequence[Shapes]):
        self._by_joints: dict[frozenset[str], list[UsdSkeleton]] = {}
        for skeleton in skeletons:
            self._by_joints.setdefault(frozenset(skeleton.joints), []).append(skeleton)
        self._tokens: dict[str, set[str]] = {}
        for each in shapes:
            self._tokens.setdefault(each.skeleton, set()).update(each.tokens)

    def skeletons(self, prim: Usd.Prim) -> list[UsdSkeleton]:
        """Those that have all joints of the animation, and meshes with a blend shape of it if it has no joints; of
        them, those that share the longest part of its path."""
        animation = UsdSkel.Animation(prim)
        joints = {str(joint) for joint in animation.GetJointsAttr().Get() or ()}
        names = {str(name) for name in animation.GetBlendShapesAttr().Get() or ()}
        having = [each for known, those in self._by_joints.items() if joints <= known for each in those]
        if not joints:
            having = [each for each in having if names & self._tokens.get(str(each.prim.GetPath()), set())]
        place = prim.GetPath()
        shared = [place.GetCommonPrefix(each.prim.GetPath()).pathElementCount for each in having]
        nearest = max(shared, default=0)
        return [each for each, count in zip(having, shared, strict=True) if count == nearest]


def _label(prim: Usd.Prim) -> str:
    return prim.GetDisplayName() or prim.GetName()


def _in_seconds(tracks: Sequence[Track], border: Border) -> tuple[Track, ...]:
    """Tracks with times in seconds, none before 0."""
    timed = [replace(track, times=border.seconds(track.times)) for track in tracks]
    times = np.concatenate([track.times for track in timed])
    if not (np.abs(times) <= LONGEST).all():  # also false for NaN
        raise AssetError(f"it has keys beyond {LONGEST:g} s")
    early = min(float(times.min()), 0.0)
    return tuple(replace(track, times=track.times - early) for track in timed)


def _tracks(
    animation: UsdSkel.Animation, skeleton: UsdSkeleton, shapes: Sequence[Shapes], border: Border
) -> list[Track]:
    return [*_joint_tracks(animation, skeleton, border), *_weight_tracks(animation, skeleton, shapes)]


def _joint_tracks(animation: UsdSkel.Animation, skeleton: UsdSkeleton, border: Border) -> list[Track]:
    """Of the joints that the animation names, as far as they leave the rest pose; USD ignores an animation that lacks
    translations, rotations or scales."""
    joints = [str(joint) for joint in animation.GetJointsAttr().Get() or ()]
    attributes: dict[Path, Usd.Attribute] = {
        "translation": animation.GetTranslationsAttr(),
        "rotation": animation.GetRotationsAttr(),
        "scale": animation.GetScalesAttr(),
    }
    if not joints or any(attribute.Get(Usd.TimeCode.EarliestTime()) is None for attribute in attributes.values()):
        return []
    index = {joint: number for number, joint in enumerate(skeleton.joints)}
    columns = [(column, index[joint]) for column, joint in enumerate(joints) if joint in index]
    found = []
    for path, rest in zip(attributes, decompose(skeleton.rest), strict=True):
        codes, values = _keys(attributes[path], len(joints))
        width = 4 if path == "rotation" else 3
        values = checked(values.reshape(len(codes), len(joints), width), f"keys of the {path}s")
        if path == "rotation":
            turned = border.rotations(quaternions(values, "rotations"))
            values = continuous(turned.reshape(len(codes), len(joints), 4))
        else:
            values = border.points(values) if path == "translation" else border.scales(values)
        size = max(float(np.abs(rest).max(initial=0)), 1e-9)
        for column, joint in columns:
            keys = values[:, column]
            still = rest[joint]
            if path == "rotation":
                moves = np.abs(np.abs(keys @ still) - 1).max() > SAME**2
            else:
                moves = np.abs(keys - still).max() > SAME * size
            if moves:
                found.append(Track(int(skeleton.nodes[joint]), path, codes, keys))
    return found


def _keys(attribute: Usd.Attribute, count: int) -> tuple[Float[np.ndarray, " keys"], np.ndarray]:
    """Time codes and values of an attribute that holds an array; one key if it never changes."""
    codes = attribute.GetTimeSamples()
    if len(codes) * count > MOST_VALUES:
        raise AssetError(f"{attribute.GetName()} has {len(codes):,} keys of {count:,} values: too many")
    values = [attribute.Get(code) for code in codes] or [attribute.Get()]
    if any(value is None or len(value) != count for value in values):
        raise AssetError(f"{attribute.GetName()} does not hold {count} values at each key")
    return np.array(codes or [0.0], np.float64), np.array([np.array(value) for value in values], np.float64)


def _weight_tracks(animation: UsdSkel.Animation, skeleton: UsdSkeleton, shapes: Sequence[Shapes]) -> list[Track]:
    names = [str(name) for name in animation.GetBlendShapesAttr().Get() or ()]
    moved = [each for each in shapes if each.skeleton == str(skeleton.prim.GetPath()) and set(each.tokens) & set(names)]
    attribute = animation.GetBlendShapeWeightsAttr()
    if not moved or attribute.Get(Usd.TimeCode.EarliestTime()) is None:
        return []
    codes, values = _keys(attribute, len(names))
    values = checked(values.reshape(len(codes), len(names)), "weights of blend shapes")
    found = []
    for each in moved:
        given = np.zeros((len(codes), len(each.tokens)))
        for column, token in enumerate(each.tokens):
            if token in names:
                given[:, column] = values[:, names.index(token)]
        times, weights = each.weights(codes, given)
        found.append(Track(each.node, "weights", times, weights))
    return found
