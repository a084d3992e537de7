"""Small VRM files of both versions, a person made of bones who walks, and their animation; the fuzzer breaks them."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from samples import Sample


def own_vrm_samples() -> list[Sample]:
    """A person, who in version 0 has only the map of VRM 0, and the .vrma of the walk."""
    from gambol import analyze, export, load
    from gambol.character.bone_mesh import with_bone_mesh
    from gambol.creatures.gaits import gait
    from gambol.formats.gltf.create import document_from_character
    from gambol.formats.gltf.document import glb_bytes
    from gambol.motion.humanoid import find_humanoid

    human = load("human")
    anatomy = analyze(human)
    walk, humanoid = gait(human, anatomy, "walk"), find_humanoid(human, anatomy)
    bones = dict(zip(humanoid.names, humanoid.nodes.tolist(), strict=True))
    newer = {"humanBones": {bone: {"node": node} for bone, node in bones.items()}}
    older = {"humanBones": [{"bone": bone, "node": node} for bone, node in bones.items()]}
    document = document_from_character(replace(with_bone_mesh(human), clips={"walk": walk}))
    found = []
    for name, extension in (("VRMC_vrm", {"specVersion": "1.0", "humanoid": newer}), ("VRM", {"humanoid": older})):
        content = {**document.json, "extensions": {name: extension}}
        found.append(Sample(f"{name}.vrm", {f"{name}.vrm": glb_bytes(content, document.chunks or ())}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "walk.vrma")
        export(human, walk, path, fps=10)
        found.append(Sample(path.name, {path.name: path.read_bytes()}))
    return found
