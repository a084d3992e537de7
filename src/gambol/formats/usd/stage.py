"""Opens a stage of which every layer lies beside the file, and which is not larger than it looks.

USD composes a stage from layers that the file names: sublayers, references, payloads and value clips, anywhere on the
machine. Here the layers are looked at one by one before anything is composed, and what leads elsewhere is taken out. A
small file can also refer to itself so that it unfolds to any number of prims; that number is bounded before, too.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pxr import Sdf, Tf, Usd

from gambol.errors import AssetError
from gambol.formats.files import LARGEST, path_beside, read_file
from gambol.text import printable

LAYERS = (".usd", ".usda", ".usdc")
MOST_LAYERS = 1000
MOST_PRIMS = 200_000
"""Prims of the composed stage, those of instances included."""
MOST_PACKED = 10_000
"""Files in a package."""


def open_stage(path: Path, scratch: Path, warnings: list[str]) -> Usd.Stage:
    """The stage of a .usd, .usda, .usdc or .usdz file; a package is unpacked into `scratch`."""
    is_package = path.suffix.lower() == ".usdz"
    root = _layer(_unpacked(path, scratch) if is_package else path.resolve(), path.name)
    layers = _checked_layers(root, scratch / path.name if is_package else path, warnings)
    if _prims_at_most(layers) > MOST_PRIMS:
        raise AssetError(f"{path.name} unfolds to more than {MOST_PRIMS:,} prims; flatten it, and leave out copies")
    stage = Usd.Stage.Open(root)
    if stage is None:
        raise AssetError(f"{path.name} cannot be read: USD does not open it")
    return stage


def _layer(path: Path, name: str) -> Sdf.Layer:
    read_file(path)  # a regular file of a bounded size
    try:
        layer = Sdf.Layer.FindOrOpen(str(path))
    except Tf.ErrorException as error:
        raise AssetError(f"{name} cannot be read: {reason(error)}") from None
    if layer is None:
        raise AssetError(f"{name} cannot be read: it is no USD layer")
    return layer


def reason(error: BaseException) -> str:
    """What an error says, without where in USD's code that was, and without folders."""
    try:
        text = " ".join(str(error).split())
    except UnicodeDecodeError:  # it quotes the file
        return "USD cannot parse it"
    found = re.search(r" in file \S+ : '(.*)", text)
    text = found[1] if found else text
    return printable(re.sub(r"\S*/", "", text).strip(" '"))[:200] or type(error).__name__


def _unpacked(path: Path, scratch: Path) -> Path:
    """The files of a package in a folder; the path of its first, which is the one to open."""
    try:
        with zipfile.ZipFile(path) as package:
            entries = package.infolist()
            if len(entries) > MOST_PACKED or sum(entry.file_size for entry in entries) > LARGEST:
                raise AssetError(f"{path.name} holds more than {MOST_PACKED:,} files or {LARGEST // 2**20} MiB")
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise AssetError(f"{path.name} is compressed; a .usdz must hold its files as they are")
            places = []
            for entry in entries:
                place = path_beside(scratch / path.name, entry.filename, f"{path.name}: the packed file")
                if entry.is_dir():
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(package.read(entry))
                places.append(place)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError) as error:
        raise AssetError(f"{path.name} is no .usdz package: {reason(error)}") from None
    if not places or places[0].suffix.lower() not in LAYERS:
        raise AssetError(f"{path.name} is no .usdz package: its first file must be a USD layer")
    return places[0]


def _checked_layers(root: Sdf.Layer, home: Path, warnings: list[str]) -> list[Sdf.Layer]:
    """The layer and all that it names, directly or not; names that lead elsewhere are taken out of them."""
    found = {root.identifier: root}
    waiting = [root]
    while waiting:
        layer = waiting.pop()
        _forget_value_clips(layer, warnings)
        kept = {""}
        for name in layer.GetCompositionAssetDependencies():
            target = _layer_beside(layer, name, home, warnings)
            new = "" if target is None else target.identifier
            layer.UpdateCompositionAssetDependency(name, new)  # only among sublayers, if it is one of them
            layer.UpdateCompositionAssetDependency(name, new)
            if target is not None:
                kept.add(target.identifier)
                if target.identifier not in found:
                    found[target.identifier] = target
                    waiting.append(target)
        if not kept.issuperset(layer.GetCompositionAssetDependencies()):
            raise AssetError(f"{home.name}: {Path(layer.identifier).name} refers to files in a way that is not read")
        if len(found) > MOST_LAYERS:
            raise AssetError(f"{home.name} is composed of more than {MOST_LAYERS:,} files; flatten it first")
    return list(found.values())


def _layer_beside(layer: Sdf.Layer, name: str, home: Path, warnings: list[str]) -> Sdf.Layer | None:
    """A layer that another one names; None, and a warning, if it is not beside the file or cannot be read."""
    try:
        target = path_beside(home, name, "it refers to", Path(layer.identifier).parent)
        if target.suffix.lower() not in LAYERS:
            raise AssetError(f"it refers to {name[:80]!r}, and only .usd, .usda and .usdc are read from there")
        return _layer(target, f"{name[:80]!r}, to which it refers,")
    except AssetError as error:
        warnings.append(f"a part of the scene is missing: {error}")
        return None


def _forget_value_clips(layer: Sdf.Layer, warnings: list[str]) -> None:
    """Value clips name further layers, which USD would open when it is asked for a value."""
    specs = [layer.GetPrimAtPath(path) for path in _prim_paths(layer)]
    holders = [spec for spec in specs if spec.HasInfo("clips")]
    for spec in holders:
        spec.ClearInfo("clips")
    if holders:
        warnings.append("value clips, which keep keys in further files, are not read")


def _prim_paths(layer: Sdf.Layer) -> list[Sdf.Path]:
    """Of all prims, also those in variants."""
    found: list[Sdf.Path] = []

    def visit(path: Sdf.Path) -> None:
        if (path.IsPrimPath() or path.IsPrimVariantSelectionPath()) and layer.GetPrimAtPath(path):
            found.append(path)

    layer.Traverse(Sdf.Path.absoluteRootPath, visit)
    return found


def _prims_at_most(layers: list[Sdf.Layer]) -> int:
    """At most so many prims does the stage have: all layers as one namespace, all variants chosen at once."""
    below: dict[str, set[str]] = {}
    for layer in layers:
        for path in _prim_paths(layer):
            plain = path.StripAllVariantSelections()
            below.setdefault(str(plain.GetParentPath()), set()).add(str(plain))
            below.setdefault(str(plain), set()).update(_targets(layer.GetPrimAtPath(path)))
    counts: dict[str, int] = {}
    waiting = [("/", False)]
    while waiting:  # depth first, without recursion: chains can be long
        path, seen = waiting.pop()
        if seen:
            counts[path] = 1 + sum(counts[each] for each in below.get(path, ()))
            if counts[path] > MOST_PRIMS:
                return counts[path]
        elif path not in counts:
            counts[path] = 0  # what leads back to itself is an error, and USD leaves it out
            waiting.append((path, True))
            waiting.extend((each, False) for each in below.get(path, ()) if each not in counts)
    return counts["/"]


def _targets(spec: Sdf.PrimSpec) -> Iterator[str]:
    """Paths of the prims that a prim is composed of besides its own."""
    for arcs in (spec.referenceList, spec.payloadList):
        for arc in _items(arcs):
            path = arc.primPath
            if not path and arc.assetPath:
                target = Sdf.Layer.Find(arc.assetPath)
                path = Sdf.Path(f"/{target.defaultPrim}") if target and target.defaultPrim else Sdf.Path("/")
            if path:
                yield str(path)
    for paths in (spec.inheritPathList, spec.specializesList):
        yield from (str(path) for path in _items(paths))


def _items(edits) -> list:
    """All entries of a list that layers edit, whatever they do to it."""
    return [
        *(*edits.explicitItems, *edits.addedItems),
        *(*edits.prependedItems, *edits.appendedItems),
    ]
