"""The player: a character that plays its clip in 3D on a page, alone or beside others, without a network.

Its script is made from `viewer/`. Each scene comes with facts for it, in a space where x is the character's left, y up
and z forward, the ground is at 0 and the body about 1 high, or long if it is longer:

    matrix        from the file's space, 16 numbers, column after column
    seconds       length of the clip
    loops         whether its end leads to its start
    path          where the camera looks over the ground (x, z), at even times from start to end; once if it stays
    cycle_travel  displacement of a cycle of a loop (x, z)
    ground        velocity of the ground below a loop in place (x, z) [1/s]
    hull          outermost points of all the clip, relative to the path: what the camera must see
    bones         [node, node or point in its space]: from where to where there is a bone
    feet          {name, side, node, sole, spans}: a point in a node's space, and when it is on the ground [s]
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d

from gambol.character.body import Body
from gambol.character.bone_mesh import BONE
from gambol.motion.joint_poses import bone_ends
from gambol.quality.normalized_clip import NormalizedClip
from gambol.quality.playable import MOST_VERTICES, playable

STEADY = 0.5
"""Standard deviation of the window over which the camera's path is smoothed [s]."""
STAYS = 0.4
"""Largest movement of a body that stays in one place, and the camera with it [body heights]."""
PATH_RATE = 15.0
"""Smallest number of points of a path per second."""
MOMENTS = 48
"""Number of frames, about, in which the camera must see all of the body."""
RESTING, ELSEWHERE = 0.1, 0.1
"""The lowest point is on the ground in this share of the frames; if it is farther than this from where the body rests
[body heights], the clip decides where the ground is."""
DIRECTIONS = np.array([way for way in product((-1.0, 0.0, 1.0), repeat=3) if any(way)])


@dataclass(frozen=True)
class PlayerScene:
    """One character with one clip."""

    label: str
    """Label such as 'before'; empty for none."""
    glb: bytes
    facts: Mapping[str, Any]
    """Facts for the script, as listed above."""
    notes: tuple[str, ...] = ()
    """What is not shown, in words for the user."""


def player_scene(clip: NormalizedClip, label: str = "") -> PlayerScene:
    """A clip prepared for the player. Raises GambolError if it cannot be stored."""
    made = playable(clip.character, [clip.contacts.looped.clip])
    return PlayerScene(label, made.glb, player_facts(clip), made.notes)


def player_facts(clip: NormalizedClip) -> dict[str, Any]:
    """The facts of a clip for the script, as listed above."""
    points, frames = _outline(clip)
    lift = _lift(clip, points)
    size = _size(clip)
    path = _path(clip)
    hull = _outermost(points - path[frames, None] * [1.0, 0.0, 1.0] + [0.0, lift, 0.0])
    T_stage_norm = np.diag([1 / size, 1 / size, 1 / size, 1.0])
    T_stage_norm[1, 3] = lift / size
    return {
        "matrix": _short((T_stage_norm @ clip.T_norm_file).T.ravel()),
        "seconds": float(f"{clip.seconds:.9g}"),
        "loops": clip.loops,
        "path": _numbers(_evenly(clip, path)[:, [0, 2]] / size),
        "cycle_travel": _numbers(clip.travel[[0, 2]] / size),
        "ground": _numbers(clip.ground_velocity[[0, 2]] / size),
        "hull": _numbers(hull / size),
        "bones": _bones(clip.anatomy.body),
        "feet": _feet(clip) if clip.grounded else [],
    }


def _size(clip: NormalizedClip) -> float:
    """Size of the body in its neutral pose, its height or its length [body heights]. The same for all of its clips."""
    body = clip.anatomy.body
    points = np.concatenate([body.heads, body.tips, body.vertices[body.owners >= 0]])
    return max(1.0, float(np.ptp(clip.place(points), axis=0).max()))


def _outline(clip: NormalizedClip) -> tuple[Float[np.ndarray, "moments points 3"], np.ndarray]:
    """Points that show how far the body reaches [body heights], and the frames they belong to: of the mesh if it is
    shown, but not of props, and the ends of all bones."""
    drawn = sum(len(mesh.positions) for mesh in clip.character.meshes)
    count = len(clip.times)
    frames = clip.skin.frames if 0 < drawn <= MOST_VERTICES else np.arange(0, count, max(count // MOMENTS, 1))
    points = clip.place(bone_ends(clip.anatomy, clip.contacts.poses()[frames]))
    if 0 < drawn <= MOST_VERTICES:
        points = np.append(points, clip.skin.vertices[:, clip.anatomy.body.owners >= 0], 1)
    return np.nan_to_num(points, posinf=0.0, neginf=0.0), frames


def _lift(clip: NormalizedClip, points: Float[np.ndarray, "moments points 3"]) -> float:
    """Height by which the character is raised [body heights]. Bones without a mesh, as of motion capture, often rest
    elsewhere than they move: then their clip decides where the ground is."""
    lowest = float(np.quantile(points[..., 1].min(1), RESTING))
    bones_only = all(mesh.material == BONE for mesh in clip.character.meshes)
    return -lowest if bones_only and abs(lowest) > ELSEWHERE else 0.0


def _evenly(clip: NormalizedClip, path: Float[np.ndarray, "frames 3"]) -> Float[np.ndarray, "points 3"]:
    """A path from the start to the end, or a single point of it if it stays."""
    if not np.ptp(path, axis=0).any():
        return path[:1]
    times, ends = clip.times, path
    if clip.loops:  # the frame after the last is the first of the next cycle
        times, ends = np.append(times, clip.seconds), np.append(path, [path[0] + clip.travel], axis=0)
    moments = np.linspace(0.0, clip.seconds, int(np.ceil(clip.seconds * PATH_RATE)) + 1)
    return np.stack([np.interp(moments, times, axis) for axis in ends.T], 1)


def _path(clip: NormalizedClip) -> Float[np.ndarray, "frames 3"]:
    """Path of the body without its sway [body heights]."""
    centers = clip.joints[:, :, :3, 3].mean(1)
    if clip.loops:
        shares = (clip.times / clip.seconds)[:, None]
        here = (centers - shares * clip.travel).mean(0)
        if clip.travel.any() or np.ptp(centers, axis=0)[[0, 2]].max() < STAYS:
            return here + shares * clip.travel
    elif np.ptp(centers, axis=0)[[0, 2]].max() < STAYS:
        return np.broadcast_to((centers.min(0) + centers.max(0)) / 2, centers.shape)
    return gaussian_filter1d(centers, STEADY * clip.fps, axis=0, mode="wrap" if clip.loops else "nearest")


def _outermost(points: Float[np.ndarray, "moments points 3"]) -> Float[np.ndarray, "directions 3"]:
    flat = points.reshape(-1, 3)
    return flat[(DIRECTIONS @ flat.T).argmax(1)]


def _bones(body: Body) -> list[list[Any]]:
    """Bones from each joint to its children, or to its tip, without the animator's helpers."""
    found: list[list[Any]] = []
    for joint, node in enumerate(body.nodes.tolist()):
        found += [[node, int(body.nodes[child])] for child in body.children[joint]]
        if not body.children[joint] and np.linalg.norm(body.tips[joint] - body.heads[joint]) > 1e-6 * body.size:
            tip = np.linalg.solve(body.T_world_node[node], np.append(body.tips[joint], 1.0))
            found.append([node, _short(tip[:3])])
    return found


def _feet(clip: NormalizedClip) -> list[dict[str, Any]]:
    anatomy, found = clip.anatomy, []
    for number, leg in enumerate(anatomy.legs):
        if leg.foot is None:
            continue
        sole = np.mean([point for joint, point in leg.contacts if joint == leg.foot], axis=0)
        found.append(
            {
                "name": anatomy.limb_name(leg),
                "side": leg.side,
                "node": int(anatomy.body.nodes[leg.foot]),
                "sole": _short(sole),
                "spans": _numbers(np.array(clip.contacts.spans(number)).reshape(-1, 2)),
            }
        )
    return found


def _short(values: np.ndarray) -> list[float]:
    """Numbers of any size, rounded to seven digits."""
    return [float(f"{number:.7g}") for number in values]


def _numbers(values: np.ndarray) -> list:
    """Numbers rounded to a ten-thousandth of the body, which cannot be seen."""
    return (np.round(np.asarray(values, np.float64), 4) + 0.0).tolist()


ICONS = (
    '<svg class="start" viewBox="0 0 16 16"><path d="M3 1.5v13l11-6.5z"/></svg>'
    '<svg class="pause" viewBox="0 0 16 16"><path d="M3 1.5h3.6v13H3zM9.4 1.5H13v13H9.4z"/></svg>'
)
SPEEDS = (0.1, 0.25, 0.5, 1, 2)
TOGGLES = {"bones": "Skeleton", "feet": "Contacts", "follow": "Follow", "ground": "Moving ground"}
"""All but the first are on to begin with; the script hides those a clip has no use for."""
VIEWS = {"reset": "Reset view", "side": "Side", "front": "Front"}


def player_html(scenes: Sequence[PlayerScene]) -> str:
    """HTML of the player, once per page: style, markup, data and script. Scenes play side by side in step."""
    if not scenes:
        raise ValueError("a player needs at least one scene")
    panes = "".join(_pane(scene) for scene in scenes)
    return f"""<style>{_data("player.css")}</style>
<figure class="player" id="gambol-player">
<div class="stage{" several" if len(scenes) > 1 else ""}" data-part="stage" tabindex="0" role="img"
  aria-label="The character in 3D; space plays or pauses, arrow keys step">{panes}
<p class="message" data-part="message">Loading …</p>
<noscript><p class="message">The 3D view needs JavaScript.</p></noscript></div>
{_controls()}
</figure>
<script type="application/json" id="gambol-scenes">{_json(scenes)}</script>
<script>{_script()}</script>"""


def _pane(scene: PlayerScene) -> str:
    label = f'<span class="label">{escape(scene.label)}</span>' if scene.label else ""
    notes = f'<span class="note">{escape("; ".join(scene.notes))}</span>' if scene.notes else ""
    return f'<div class="pane" data-part="pane">{label}{notes}</div>'


def _controls() -> str:
    speeds = "".join(f'<option value="{s}"{" selected" if s == 1 else ""}>{s:g}×</option>' for s in SPEEDS)
    toggles = "".join(
        f'<button type="button" data-toggle="{name}" aria-pressed="{str(name != "bones").lower()}">{title}</button>'
        for name, title in TOGGLES.items()
    )
    views = "".join(f'<button type="button" data-view="{name}">{title}</button>' for name, title in VIEWS.items())
    return f"""<div class="controls">
<div class="time"><button type="button" class="play" data-part="play" data-playing="false" aria-label="Play">{ICONS}
</button><input type="range" data-part="time" min="0" max="1" step="any" value="0" aria-label="Time">
<output data-part="clock" aria-live="off">0.00 s</output></div>
<select data-part="speed" aria-label="Speed">{speeds}</select>
<div class="group">{toggles}</div><div class="group views">{views}</div>
<p class="hint">Drag to turn; click, then scroll to zoom; right-drag to move. Space plays, arrow keys step.</p>
</div>"""


def _json(scenes: Sequence[PlayerScene]) -> str:
    """JSON of the scenes that cannot end the element it stands in."""
    data = [
        {"facts": dict(scene.facts), "glb": base64.b64encode(gzip.compress(scene.glb, mtime=0)).decode()}
        for scene in scenes
    ]
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _script() -> str:
    script = _data("player.js")
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("player.js would end the element it is embedded in; build it again with `make viewer`")
    return script


def _data(name: str) -> str:
    return (files("gambol.quality") / name).read_text(encoding="utf-8")
