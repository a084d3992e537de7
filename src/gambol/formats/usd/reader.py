"""From a USD stage to a Character: y up, in metres, whatever the stage's own axes and units are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from pxr import Tf, Usd, UsdGeom, UsdSkel

from gambol.character.character import Character, Mesh
from gambol.character.clip import Track
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import compose, decompose
from gambol.errors import AssetError
from gambol.formats.usd.animations import read_clips
from gambol.formats.usd.border import Border, checked, columns
from gambol.formats.usd.materials import MaterialReader
from gambol.formats.usd.meshes import MeshReader
from gambol.formats.usd.skeletons import UsdSkeleton, read_skeleton
from gambol.formats.usd.stage import MOST_PRIMS, open_stage, reason
from gambol.formats.usd.transfer import taken_apart
from gambol.text import printable

EVERYTHING = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
EARLIEST = Usd.TimeCode.EarliestTime()
LARGEST_WORLD = 1e30
"""Largest entry of a world transform, the product along a chain of nodes; the same as for glTF."""


class Nodes:
    """Collects the nodes of the character: prims that carry something, and the joints of skeletons."""

    def __init__(self, border: Border, warnings: list[str]):
        self._border, self._warnings = border, warnings
        self.names: list[str] = []
        self.parents: list[int] = []
        self.locals: list[np.ndarray] = []
        self.is_joint: list[bool] = []
        self.of_prim: dict[str, int] = {}
        self.tracks: list[Track] = []
        """Of prims that move by themselves; times are time codes."""

    def add(self, name: str, parent: int, local: Float[np.ndarray, "4 4"], is_joint: bool = False) -> int:
        """Add a node whose transform, from it to its parent, is in our coordinates; returns its index."""
        if len(self.names) >= MOST_PRIMS:
            raise AssetError(f"there are more than {MOST_PRIMS:,} prims and joints")
        self.names.append(printable(name) or f"node {len(self.names)}")
        self.parents.append(parent)
        self.locals.append(local)
        self.is_joint.append(is_joint)
        return len(self.names) - 1

    def add_prim(self, prim: Usd.Prim) -> None:
        """A node for a prim, below that of the nearest prim above it that has one."""
        xform = UsdGeom.Xformable(prim)
        above = prim.GetParent()
        while above and str(above.GetPath()) not in self.of_prim:
            above = above.GetParent()
        parent = self.of_prim[str(above.GetPath())] if above and not xform.GetResetXformStack() else -1
        local = self._local(xform, EARLIEST, prim)
        node = self.add(prim.GetDisplayName() or prim.GetName(), parent, local)
        self.of_prim[str(prim.GetPath())] = node
        if xform.TransformMightBeTimeVarying():
            codes = np.array(xform.GetTimeSamples())
            poses = decompose(np.stack([self._local(xform, Usd.TimeCode(code), prim) for code in codes]))
            for path, values in zip(("translation", "rotation", "scale"), poses, strict=True):
                self.tracks.append(Track(node, path, codes, values))  # type: ignore[arg-type]

    def _local(self, xform: UsdGeom.Xformable, time: Usd.TimeCode, prim: Usd.Prim) -> Float[np.ndarray, "4 4"]:
        found = xform.GetLocalTransformation(time)
        matrix = columns(found[0] if isinstance(found, tuple) else found)
        return self._border.matrices(checked(matrix, f"{prim.GetName()}: its transform has numbers that"))

    def skeleton(self, label: str) -> Skeleton:
        """All nodes; shear, which they cannot have, is dropped with a warning."""
        given = np.array(self.locals).reshape(-1, 4, 4)
        rest = Pose(*decompose(given))
        off = np.abs(compose(rest.translation, rest.rotation, rest.scale) - given).max(axis=(1, 2), initial=0)
        sheared = int((off > 1e-4 * np.maximum(1e-9, np.abs(given[:, :3, :3]).max(axis=(1, 2), initial=0))).sum())
        if sheared:
            self._warnings.append(f"{sheared} prims have a sheared transform: the shear is dropped")
        parents = np.array(self.parents, np.int64)
        found = Skeleton(tuple(self.names), parents, rest, np.array(self.is_joint, bool))
        with np.errstate(over="ignore", invalid="ignore"):
            if len(found) and not (np.abs(found.world()) < LARGEST_WORLD).all():  # also false for NaN
                raise AssetError(f"{label}: its prims scale or move each other beyond {LARGEST_WORLD:g}")
        return found


class Binds:
    """Collects (node, inverse bind matrix) pairs; meshes that share a joint and its matrix share the bind."""

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.matrices: list[np.ndarray] = []
        self._known: dict[tuple[int, bytes], int] = {}

    def add(self, node: int, matrix: Float[np.ndarray, "4 4"]) -> int:
        key = (node, matrix.tobytes())
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
            self.matrices.append(matrix)
        return self._known[key]


def extract(path: Path, scratch: Path) -> tuple[list[Any], dict[str, np.ndarray]]:
    """`read_stage` for `reading_process.py`, which runs this file."""
    return taken_apart(read_stage(path, scratch))


def read_stage(path: Path, scratch: Path) -> Character:
    """Skeletons, meshes, skins, blend shapes, materials and animations of a .usd, .usda, .usdc or .usdz file.

    scratch: an empty folder, into which a package is unpacked.
    """
    try:
        return _read_stage(path, scratch)
    except (Tf.ErrorException, UnicodeDecodeError, MemoryError) as error:  # UnicodeDecodeError: a name that is no text
        raise AssetError(f"{path.name} cannot be read: {reason(error)}") from None


def _read_stage(path: Path, scratch: Path) -> Character:
    warnings: list[str] = []
    stage = open_stage(path, scratch, warnings)
    border = Border.of(stage)
    meshes, skeletons, animations = _found(stage, warnings)
    nodes, binds = Nodes(border, warnings), Binds()
    for prim in _with_holders([*meshes, *skeletons], stage):
        nodes.add_prim(prim)
    known: dict[str, UsdSkeleton] = {}
    for prim in skeletons:
        if found := read_skeleton(prim, nodes, border, warnings):
            known[str(prim.GetPath())] = found
    home = scratch if path.suffix.lower() == ".usdz" else path.resolve().parent
    reader = MeshReader(border, binds, MaterialReader(home, warnings), _bindings(stage, known), warnings)
    shown: list[Mesh] = []
    for prim in meshes:
        shown.extend(reader.read(prim, nodes.of_prim[str(prim.GetPath())]))
    clips = read_clips(stage, list(known.values()), animations, reader.shapes, nodes.tracks, border, warnings)
    skeleton = nodes.skeleton(path.name)
    if not len(skeleton):
        raise AssetError(f"{path.name} has neither meshes nor skeletons that can be read")
    return Character(
        name=printable(path.stem),
        skeleton=skeleton,
        meshes=tuple(shown),
        bind_nodes=np.array(binds.nodes, np.int64),
        inverse_binds=np.array(binds.matrices).reshape(-1, 4, 4),
        clips=clips,
        warnings=tuple(dict.fromkeys(map(printable, warnings))),
    )


def _found(stage: Usd.Stage, warnings: list[str]) -> tuple[list[Usd.Prim], list[Usd.Prim], list[Usd.Prim]]:
    """Meshes that are to be seen, skeletons, and animations of skeletons."""
    meshes, skeletons, animations = [], [], []
    hidden = others = 0
    for count, prim in enumerate(Usd.PrimRange.Stage(stage, EVERYTHING)):
        if count == MOST_PRIMS:
            raise AssetError(f"there are more than {MOST_PRIMS:,} prims: flatten the scene, and leave out copies")
        if prim.IsA(UsdGeom.Mesh):
            image = UsdGeom.Imageable(prim)
            seen = image.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
            if seen and image.ComputeVisibility(EARLIEST) != UsdGeom.Tokens.invisible:
                meshes.append(prim)
            else:
                hidden += 1
        elif prim.IsA(UsdSkel.Skeleton):
            skeletons.append(prim)
        elif prim.IsA(UsdSkel.Animation):
            animations.append(prim)
        elif prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdGeom.PointInstancer):
            others += 1
    if hidden:
        warnings.append(f"{hidden} meshes that are invisible, guides or proxies are left out")
    if others:
        warnings.append(f"{others} shapes that are no meshes (spheres, curves, points, copies of them) are left out")
    return meshes, skeletons, animations


def _with_holders(prims: Iterable[Usd.Prim], stage: Usd.Stage) -> list[Usd.Prim]:
    """The prims and all above them that can have a transform, in the stage's order."""
    wanted: set[str] = set()
    for prim in prims:
        while prim and str(prim.GetPath()) not in wanted:
            wanted.add(str(prim.GetPath()))
            prim = prim.GetParent()
    found = Usd.PrimRange.Stage(stage, EVERYTHING)
    return [prim for prim in found if str(prim.GetPath()) in wanted and prim.IsA(UsdGeom.Xformable)]


def _bindings(stage: Usd.Stage, known: dict[str, UsdSkeleton]) -> dict[str, tuple[UsdSkel.SkinningQuery, UsdSkeleton]]:
    """What USD says of each mesh below a SkelRoot: how it is skinned, and by which skeleton."""
    found = {}
    prims = iter(Usd.PrimRange.Stage(stage, EVERYTHING))
    for prim in prims:
        if not prim.IsA(UsdSkel.Root):
            continue
        prims.PruneChildren()  # a root answers for those below it
        root, cache = UsdSkel.Root(prim), UsdSkel.Cache()
        cache.Populate(root, EVERYTHING)
        for binding in cache.ComputeSkelBindings(root, EVERYTHING):
            skeleton = known.get(str(binding.GetSkeleton().GetPath()))
            if skeleton is None:
                continue
            for query in binding.GetSkinningTargets():
                found[str(query.GetPrim().GetPath())] = (query, skeleton)
    return found
