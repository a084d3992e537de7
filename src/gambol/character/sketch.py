"""A quick picture of a character: parts in colours, bones, contact points and the way it faces, from three sides."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw, ImageFont

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.errors import GambolError

Array = np.ndarray

COLORS = {
    "trunk": (150, 150, 155),
    "neck": (105, 105, 120),
    "head": (70, 70, 85),
    "tail": (60, 160, 70),
    "other": (200, 195, 185),
    "left leg": (214, 48, 49),
    "right leg": (38, 84, 214),
    "left arm": (245, 166, 35),
    "right arm": (30, 180, 200),
    "left wing": (245, 166, 35),
    "right wing": (30, 180, 200),
    "left fin": (245, 166, 35),
    "right fin": (30, 180, 200),
}
BACKGROUND = (250, 249, 246)
SUPERSAMPLING = 2


def sketch(
    character: Character,
    anatomy: Anatomy,
    path: str | Path,
    size: int = 360,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Write a PNG of the neutral pose from the side, from the front and at an angle, with a legend."""
    up, forward, left = anatomy.up, anatomy.forward, anatomy.left
    aside = _unit(0.8 * forward - 0.6 * left)
    views = {
        "from its right": (forward, up),
        "from the front": (left, up),
        "at an angle": (aside, _unit(0.92 * up - 0.39 * np.cross(aside, up))),
    }
    colors = joint_colors(anatomy)
    legend = _legend(colors, size * len(views))
    sheet = Image.new("RGB", (size * len(views), size + 20 + legend.height), BACKGROUND)
    for column, (title, (right, upward)) in enumerate(views.items()):
        view = _draw_view(character, anatomy, colors, right, upward, size)
        sheet.paste(view, (column * size, 20))
        ImageDraw.Draw(sheet).text((column * size + 8, 4), title, (90, 90, 90), ImageFont.load_default(12))
        on_progress(column + 1, len(views))
    sheet.paste(legend, (0, size + 20))
    try:
        sheet.save(path)
    except (OSError, ValueError) as error:  # PIL raises ValueError for an unknown suffix
        raise GambolError(f"the picture {path} cannot be written: {error}; use an existing folder and .png") from None


def joint_colors(anatomy: Anatomy) -> list[tuple[str, tuple[int, int, int]]]:
    """Legend entry and colour of every joint; limbs of one kind get darker from front to back."""
    found: list[tuple[str, tuple[int, int, int]]]
    found = [(part, COLORS.get(part, COLORS["trunk"])) for part in anatomy.parts]
    for limb in anatomy.limbs:
        if limb.kind == "ear":
            continue
        pairs = max(other.rank for other in anatomy.limbs if other.kind == limb.kind) + 1
        shade = 1.0 - 0.45 * limb.rank / max(pairs - 1, 1)
        red, green, blue = (int(channel * shade) for channel in COLORS[f"{limb.side} {limb.kind}"])
        for joint in limb.joints:
            found[joint] = (anatomy.limb_name(limb), (red, green, blue))
    return found


def _unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)


def _draw_view(
    character: Character, anatomy: Anatomy, colors: list, right: Array, upward: Array, size: int
) -> Image.Image:
    """Triangles sorted from far to near, flatly shaded; then bones and contact points on top."""
    body = anatomy.body
    toward = np.cross(right, upward)
    points = body.vertices if len(body.vertices) else np.concatenate([body.heads, body.tips])
    flat = np.stack([points @ right, points @ upward], axis=1)
    centre = (flat.min(0) + flat.max(0)) / 2
    scale = 0.84 * size * SUPERSAMPLING / max(np.ptp(flat, axis=0).max(), 1e-9)
    half = size * SUPERSAMPLING / 2

    def project(p: Float[Array, "*n 3"]) -> Array:
        planar = np.stack([p @ right, p @ upward], axis=-1)
        return (planar - centre) * scale * (1, -1) + half

    image = Image.new("RGB", (size * SUPERSAMPLING,) * 2, BACKGROUND)
    draw = ImageDraw.Draw(image)
    if len(body.vertices):
        _draw_triangles(draw, character, body, colors, project, toward, upward)
    for joint in range(len(body)):
        ends = [tuple(p) for p in project(np.stack([body.heads[joint], body.tips[joint]]))]
        draw.line(ends, fill=(20, 20, 20), width=2)
        x, y = ends[0]
        draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=(255, 255, 255), outline=(20, 20, 20))
    for limb in anatomy.limbs:
        for joint, local in limb.contacts:
            x, y = project((body.T_world_node[body.nodes[joint]] @ np.array([*local, 1.0]))[:3])
            draw.ellipse((x - 6, y - 6, x + 6, y + 6), fill=(255, 230, 0), outline=(20, 20, 20))
    _draw_arrow(draw, project, points.mean(0), anatomy, points)
    return image.resize((size, size), Image.Resampling.LANCZOS)


def _draw_triangles(draw, character: Character, body, colors: list, project, toward: Array, upward: Array) -> None:
    offsets = np.cumsum([0, *(len(mesh.positions) for mesh in character.meshes)])
    faces = np.concatenate([mesh.faces + start for mesh, start in zip(character.meshes, offsets[:-1], strict=True)])
    corners = body.vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-30
    light = _unit(toward + 0.6 * upward)
    shade = 0.55 + 0.45 * np.abs(normals @ light)
    owners = body.owners[faces[:, 0]]
    base = np.array([color for _, color in colors] + [COLORS["other"]])[owners]
    fill = (base * shade[:, None]).astype(int)
    planar = project(corners).reshape(len(faces), 6)
    for face in np.argsort(corners.mean(1) @ toward):
        draw.polygon(planar[face].tolist(), fill=tuple(fill[face].tolist()))


def _draw_arrow(draw, project, centre: Array, anatomy: Anatomy, points: Array) -> None:
    """An arrow on the ground that shows the way the character faces."""
    foot = centre + anatomy.up * (anatomy.ground - centre @ anatomy.up)
    reach = (points @ anatomy.forward).max() - foot @ anatomy.forward
    length = max(reach, 0.3 * np.ptp(points, axis=0).max())
    start, end = project(np.stack([foot, foot + anatomy.forward * length]))
    if np.linalg.norm(end - start) < 12:
        return
    direction = (end - start) / np.linalg.norm(end - start)
    side = np.array([-direction[1], direction[0]])
    draw.line([tuple(start), tuple(end)], fill=(120, 20, 140), width=5)
    head = [end + direction * 14, end + side * 9, end - side * 9]
    draw.polygon([tuple(p) for p in head], fill=(120, 20, 140))


def _legend(colors: list, width: int) -> Image.Image:
    """Part names with their colours, on as many lines as they need."""
    font, x, y = ImageFont.load_default(12), 8, 4
    measure = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    places = []
    for name, color in dict(colors).items():
        step = 22 + int(measure.textlength(name, font))
        if x + step > width:
            x, y = 8, y + 20
        places.append((name, color, x, y))
        x += step
    legend = Image.new("RGB", (width, y + 22), BACKGROUND)
    draw = ImageDraw.Draw(legend)
    for name, color, x, y in places:
        draw.rectangle((x, y + 2, x + 10, y + 12), fill=color)
        draw.text((x + 14, y), name, (40, 40, 40), font)
    return legend
