"""What each engine wants of a file: one row each. docs/engines.md says why, and how it was checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EngineName = Literal["godot", "unity", "unreal", "blender", "web"]
OBJECT_NAMES = "\"' ,/.:|&!~\n\r\t@#(){}[]=;^%$`+"
"""Characters that no object of Unreal may have in its name, and '+', which no bone may have."""


@dataclass(frozen=True)
class Engine:
    """What the importer of one program reads out of a file, and what the file cannot tell it."""

    importer: str
    """What reads the file."""
    loop_ending: str = ""
    """What the name of a clip that loops ends in, so that the importer sets it to loop."""
    loop_words: tuple[str, ...] = ()
    """Beginnings and ends of names from which the importer takes a clip to loop."""
    unsafe_in_clips: str = ""
    """Characters that the importer replaces in names of clips."""
    longest_name: int = 200
    """Bytes of a clip's name that the importer keeps."""
    unsafe_in_joints: str = ""
    """Characters that the importer replaces or drops in names of joints."""
    in_their_place: str = "_"
    """What the importer writes for each of those."""
    root_bone: bool = False
    """All joints under one joint, which rests at the origin; travel goes onto it."""
    fps: float | None = None
    """Frames per second that keys are put on, unless another rate is given: the importer samples at this rate."""
    spline_fps: float | None = None
    """Frames per second at which clips of splines are sampled, which hold three values a key."""
    reduce: float | None = None
    """Largest error of key reduction [height]; None keeps all keys."""
    compact: bool = False
    """Rotations as 16-bit numbers."""
    scale: str = "when you import it"
    """Where a character of a wrong size is scaled."""
    looping: str = ""
    """What to do for a clip that loops, because the file cannot say it."""
    travelling: str = ""
    """What to do for root motion."""


ENGINES: dict[EngineName, Engine] = {
    "godot": Engine(
        importer="Godot's scene importer (.glb)",
        loop_ending="-loop",
        loop_words=("loop", "cycle"),
        unsafe_in_clips='.:@/"%,[',
        unsafe_in_joints=":/",
        fps=30.0,
        scale="Import > Nodes > Root Scale",
        travelling="in the AnimationPlayer set Root Motion > Track to '{root}'",
    ),
    "unity": Engine(
        importer="Unity: glTFast (.glb) or the model importer (.fbx)",
        unsafe_in_clips='/\\:*?"<>|',
        scale="Model > Scale Factor (.fbx), or on the object",
        looping="glTFast loops every clip; of an .fbx, set Animation > Loop Time",
        travelling="Rig > Root node: '{root}', and Apply Root Motion in the Animator",
    ),
    "unreal": Engine(
        importer="Unreal's Interchange (.glb, .fbx)",
        unsafe_in_clips=OBJECT_NAMES,
        unsafe_in_joints=OBJECT_NAMES,
        root_bone=True,
        fps=30.0,
        scale="Import > Offset Uniform Scale",
        looping="what plays the sequence says whether it loops",
        travelling="tick Enable Root Motion in the Animation Sequence",
    ),
    "blender": Engine(
        importer="Blender's glTF importer",
        longest_name=63,
        fps=24.0,
        scale="S in object mode",
        looping="add a Cycles modifier to its curves, or repeat its strip in the NLA editor",
    ),
    "web": Engine(
        importer="three.js (GLTFLoader) and Babylon.js",
        unsafe_in_joints="[].:/",
        in_their_place="",
        spline_fps=60.0,
        reduce=2e-3,
        compact=True,
        scale="object.scale",
        looping="three.js loops every clip unless its action says LoopOnce",
    ),
}
"""The rows."""
