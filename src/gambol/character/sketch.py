"""A quick picture of a character: parts in colours, bones, contact points and the way it faces, from three sides."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw, ImageFont

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.transforms import normalize
from gambol.errors import GambolError

Color = tuple[int, int, int]

COLORS: dict[str, Color] = {
    "trunk": (150, 150, 155),
    "neck": (105, 105, 120),
    "head": (70, 70, 85),
    "tail": (60, 160, 70),
    "other": (200, 195, 185),
    "left leg": (214, 48, 49),
    "right leg": (38, 84, 214),
    "left": (245, 166, 35),
    "right": (30, 180, 200),
}
"""Colours of body parts; legs and other limbs have one for each side."""
BACKGROUND, DARK, PURPLE = (250, 249, 246), (20, 20, 20), (120, 20, 140)
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
    aside = normalize(0.8 * forward - 0.6 * left)
    views = {
        "from its right": (forward, up),
        "from the front": (left, up),
        "at an angle": (aside, normalize(0.92 * up - 0.39 * np.cross(aside, up))),
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


def joint_colors(anatomy: Anatomy) -> list[tuple[str, Color]]:
    """Legend entry and colour of every joint; limbs of one kind get darker from front to back."""
    found = [(str(part), COLORS.get(part, COLORS["trunk"])) for part in anatomy.parts]
    for limb in anatomy.limbs:
        if limb.kind == "ear":
            continue
        shade = 1.0 - 0.45 * limb.rank / max(anatomy.pairs(limb.kind) - 1, 1)
        red, green, blue = COLORS[f"{limb.side} leg" if limb.kind == "leg" else limb.side]
        color = int(red * shade), int(green * shade), int(blue * shade)
        for joint in limb.joints:
            found[joint] = (anatomy.limb_name(limb), color)
    return found


def _draw_view(
    character: Character,
    anatomy: Anatomy,
    colors: list[tuple[str, Color]],
    right: np.ndarray,
    upward: np.ndarray,
    size: int,
) -> Image.Image:
    """Triangles sorted from far to near, flatly shaded; then bones and contact points on top."""
    body = anatomy.body
    toward = np.cross(right, upward)
    points = body.vertices if len(body.vertices) else np.concatenate([body.heads, body.tips])
    flat = np.stack([points @ right, points @ upward], axis=1)
    centre = (flat.min(0) + flat.max(0)) / 2
    scale = 0.84 * size * SUPERSAMPLING / max(np.ptp(flat, axis=0).max(), 1e-9)
    half = size * SUPERSAMPLING / 2

    def project(p: Float[np.ndarray, "*n 3"]) -> np.ndarray:
        planar = np.stack([p @ right, p @ upward], axis=-1)
        return (planar - centre) * scale * (1, -1) + half

    image = Image.new("RGB", (size * SUPERSAMPLING,) * 2, BACKGROUND)
    draw = ImageDraw.Draw(image)
    if len(body.vertices):
        _draw_triangles(draw, character, body, colors, project, toward, upward)
    for head, tip in zip(project(body.heads), project(body.tips), strict=True):
        draw.line([*head, *tip], fill=DARK, width=2)
        draw.ellipse([*(head - 3), *(head + 3)], fill=(255, 255, 255), outline=DARK)
    for limb in anatomy.limbs:
        for joint, local in limb.contacts:
            point = project((body.T_world_node[body.nodes[joint]] @ np.array([*local, 1.0]))[:3])
            draw.ellipse([*(point - 6), *(point + 6)], fill=(255, 230, 0), outline=DARK)
    _draw_arrow(draw, project, points.mean(0), anatomy, points)
    return image.resize((size, size), Image.Resampling.LANCZOS)


def _draw_triangles(
    draw, character: Character, body, colors: list[tuple[str, Color]], project, toward: np.ndarray, upward: np.ndarray
) -> None:
    offsets = np.cumsum([0, *(len(mesh.positions) for mesh in character.meshes)])
    faces = np.concatenate([mesh.faces + start for mesh, start in zip(character.meshes, offsets[:-1], strict=True)])
    corners = body.vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-30
    light = normalize(toward + 0.6 * upward)
    shade = 0.55 + 0.45 * np.abs(normals @ light)
    owners = body.owners[faces[:, 0]]
    base = np.array([color for _, color in colors] + [COLORS["other"]])[owners]
    fill = (base * shade[:, None]).astype(int)
    planar = project(corners).reshape(len(faces), 6)
    for face in np.argsort(corners.mean(1) @ toward):
        draw.polygon(planar[face].tolist(), fill=tuple(fill[face].tolist()))


def _draw_arrow(draw, project, centre: np.ndarray, anatomy: Anatomy, points: np.ndarray) -> None:
    """An arrow on the ground that shows the way the character faces."""
    foot = centre + anatomy.up * (anatomy.ground - centre @ anatomy.up)
    reach = (points @ anatomy.forward).max() - foot @ anatomy.forward
    length = max(reach, 0.3 * np.ptp(points, axis=0).max())
    start, end = project(np.stack([foot, foot + anatomy.forward * length]))
    if np.linalg.norm(end - start) < 12:
        return
    direction = (end - start) / np.linalg.norm(end - start)
    side = np.array([-direction[1], direction[0]])
    draw.line([*start, *end], fill=PURPLE, width=5)
    draw.polygon([*(end + direction * 14), *(end + side * 9), *(end - side * 9)], fill=PURPLE)


def _legend(colors: list[tuple[str, Color]], width: int) -> Image.Image:
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
