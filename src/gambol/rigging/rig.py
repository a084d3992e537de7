"""`gambol.rig`: a mesh becomes a character with a skeleton and skin weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.axes import axis_name
from gambol.character.character import Character
from gambol.character.coarse import joined, small_enough
from gambol.character.heat import HeatMethod
from gambol.character.plans import Plan
from gambol.character.skin import BoundCharacter, baked, bind_mesh
from gambol.character.welding import corners_of
from gambol.errors import GambolError
from gambol.rigging.certainty import notes_on, plan_certainty
from gambol.rigging.joint_names import NameScheme
from gambol.rigging.joint_positions import far_outside, joint_positions, read_joint_positions
from gambol.rigging.layout import Layout
from gambol.rigging.options import Method, RigOptions, direction
from gambol.rigging.placement import finish_joints, place_joints
from gambol.rigging.solid import solid_of
from gambol.text import printable

OnProgress = Callable[[int, int], None]
FLAT = 1e-3
"""A mesh thinner than this share of its size has no inside."""


@dataclass(frozen=True)
class RiggedMesh:
    """A mesh with its new skeleton, and how sure that is."""

    character: Character
    anatomy: Anatomy
    """As the rest of gambol reads the new skeleton."""
    plan: str
    """In the words of `gambol info`: 'quadruped', 'biped, winged'."""
    plan_certainty: float
    """From 0 to 1."""
    forward: str
    """The axis that it faces."""
    forward_certainty: float
    """From 0, a guess, to 1."""
    agreement: float | None
    """Share of joints that the two ways to place them, templates and the network, see at the same place; None if only
    one of them placed joints."""
    joints: int
    notes: tuple[str, ...]
    """What the user should look at."""

    @property
    def sentence(self) -> str:
        """What was made, how sure that is, and what to do if it is wrong."""
        placed = "" if self.agreement is None else f" ({self.agreement:.0%} sure)"
        return (
            f"rigged '{printable(self.character.name)}' with {self.joints} joints{placed} as {self.plan} "
            f"({self.plan_certainty:.0%} sure) that faces {self.forward} ({self.forward_certainty:.0%} sure); "
            "if that is wrong, run gambol rig with --plan or --forward first"
        )


def is_bare(character: Character) -> bool:
    """Whether a character is a mesh that nothing can move."""
    return not character.can_move and any(len(mesh.faces) for mesh in character.meshes)


def rig(
    character: Character | str | Path,
    *,
    plan: Plan | None = None,
    up: str | None = None,
    forward: str | None = None,
    spine: int | None = None,
    tail: int | None = None,
    names: NameScheme = "gambol",
    joints: str | Path | Mapping[str, Any] | None = None,
    weights: HeatMethod = "normals",
    method: Method = "both",
) -> Character:
    """A mesh with a skeleton and skin weights; see `rig_mesh`, which also says how sure it is.

    joints: positions by hand, a .json or .toml file or what it holds; see `gambol.rigging.joint_positions`.
    """
    if joints is None:
        given = None
    else:
        given = joint_positions(joints) if isinstance(joints, Mapping) else read_joint_positions(Path(joints))
    return rig_mesh(character, RigOptions(plan, up, forward, spine, tail, names, given, weights, method)).character


def rig_mesh(
    character: Character | str | Path, options: RigOptions | None = None, advance: OnProgress | None = None
) -> RiggedMesh:
    """Find the parts of a mesh, put joints where an animator would, and bind the mesh to them with heat weights.

    The pose of the mesh becomes the rest pose. GambolError if the mesh has a skeleton already or no inside.
    """
    options = options or RigOptions()
    options.check()
    mesh = _loaded(character)
    meshes = baked(mesh)
    if not meshes:
        raise GambolError(f"'{printable(mesh.name)}' has no mesh with faces: there is nothing to rig")
    meshes = small_enough(meshes)
    vertices, faces = joined(meshes)
    _require_inside(mesh.name, vertices, faces)
    if options.joints and options.joints.is_whole:
        return _bound_by_hand(mesh, vertices, options, advance)
    found, placed = place_joints(solid_of(vertices, faces), meshes, vertices, faces, options)
    finish_joints(mesh.name, found, placed, options)
    bound = _bound(mesh, placed.layout, options, advance)
    sure = 1.0 if options.plan else plan_certainty(found, placed, direction(found.up))
    anatomy = analyze(bound.small, up=found.up)
    notes = [*notes_on(anatomy, found, placed, bool(options.up)), *_outside(options, vertices)]
    count = sum(not tip for tip in placed.layout.is_tip)
    facing = axis_name(placed.forward), placed.forward_certainty
    return RiggedMesh(bound.character, anatomy, placed.plan, sure, *facing, placed.agreement, count, tuple(notes))


def _bound_by_hand(
    mesh: Character, vertices: Float[np.ndarray, "vertices 3"], options: RigOptions, advance: OnProgress | None
) -> RiggedMesh:
    """The mesh on a skeleton that is the user's own; plan and facing are what the rest of gambol sees in it."""
    assert options.joints is not None
    layout = options.joints.layout()
    bound = _bound(mesh, layout, options, advance)
    anatomy = analyze(bound.small, up=options.up, forward=options.forward, plan=options.plan)
    count = sum(not tip for tip in layout.is_tip)
    facing = axis_name(anatomy.forward), anatomy.certainty
    return RiggedMesh(bound.character, anatomy, anatomy.plan, 1.0, *facing, None, count, _outside(options, vertices))


def _bound(mesh: Character, layout: Layout, options: RigOptions, advance: OnProgress | None) -> BoundCharacter:
    """The mesh with heat weights on new joints."""
    bare = Character(mesh.name, layout.skeleton(), (), np.zeros(0, np.int64), np.zeros((0, 4, 4)))
    return bind_mesh(mesh, bare, advance=advance, method=options.weights)


def _outside(options: RigOptions, vertices: Float[np.ndarray, "vertices 3"]) -> tuple[str, ...]:
    """A note on joints by hand that are likely in other units than the mesh."""
    names = far_outside(options.joints, vertices) if options.joints else []
    if not names:
        return ()
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return (f"{len(names)} joint(s) by hand are far outside of the mesh ({listed}): are they in its units and axes?",)


def _loaded(character: Character | str | Path) -> Character:
    if not isinstance(character, Character):
        from gambol.formats import load

        character = load(character)
    if character.skeleton.is_joint.any():
        raise GambolError(
            f"'{printable(character.name)}' has a skeleton already, of {int(character.skeleton.is_joint.sum())} joints"
        )
    return character


def _require_inside(name: str, vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> None:
    """Refuse what is flat: bones have to lie inside."""
    used = vertices[corners_of(faces)]
    if not np.isfinite(used).all():
        raise GambolError(f"'{printable(name)}' has vertices that are NaN or infinite; repair the mesh first")
    size = max(float(np.ptp(used, axis=0).max()), 1e-30)
    about = (used - used.mean(0)) / size
    if np.linalg.eigvalsh(about.T @ about / len(about))[0] < FLAT**2:
        raise GambolError(f"'{printable(name)}' is flat: a skeleton needs a body with an inside")
