"""Materials and their base colour textures."""

from dataclasses import replace

from gambol.character.character import Material, Texture
from gambol.errors import AssetError
from gambol.formats.gltf.accessors import Accessors
from gambol.formats.gltf.document import Document
from gambol.formats.gltf.fields import Fields
from gambol.formats.images import LARGEST_IMAGES, mime_of

SPECULAR_GLOSSINESS = "KHR_materials_pbrSpecularGlossiness"
UNREAD = {"normalTexture": "normal maps", "occlusionTexture": "occlusion maps", "emissiveTexture": "glow maps"}
"""Textures of materials that are not read."""
OTHER_IMAGE_SOURCES = ("EXT_texture_webp", "KHR_texture_basisu", "EXT_texture_avif")
"""Extensions that name another image for a texture; the first the file offers is used if there is no plain one."""


def read_materials(document: Document, accessors: Accessors, warnings: list[str]) -> list[tuple[Material, int]]:
    """Every material with the texture coordinate set of its base colour."""
    textures: list[Texture | None] = []
    room = LARGEST_IMAGES
    for image in document.lists["images"]:
        textures.append(_read_texture(document, accessors, image, room, warnings))
        room -= len(textures[-1].data) if textures[-1] else 0
    found = [_read_material(document, material, textures, warnings) for material in document.lists["materials"]]
    if found and all(_is_invisible(material) for material, _ in found):  # some exporters write an alpha of 0 everywhere
        warnings.append("all materials are fully transparent; pictures show them opaque")
        return [
            (replace(material, base_color=(*material.base_color[:3], 1.0), alpha_mode="OPAQUE"), uv_set)
            for material, uv_set in found
        ]
    return found


def unread_textures(document: Document) -> list[str]:
    """What a file that is written anew loses of the looks, in words: textures that stay in the glTF file alone."""
    found = set()
    for material in document.lists["materials"]:
        found |= {what for key, what in UNREAD.items() if key in material}
        if "metallicRoughnessTexture" in material.child("pbrMetallicRoughness"):
            found.add("gloss maps")
    return [f"{', '.join(sorted(found))}: these textures are left out"] if found else []


def _is_invisible(material: Material) -> bool:
    """Whether nothing of a material is seen, whatever its texture holds."""
    alpha = material.base_color[3]
    return (
        alpha < material.alpha_cutoff
        if material.alpha_mode == "MASK"
        else material.alpha_mode == "BLEND" and alpha <= 0
    )


def _read_material(
    document: Document, material: Fields, images: list[Texture | None], warnings: list[str]
) -> tuple[Material, int]:
    surface = material.child("pbrMetallicRoughness")
    legacy = material.child("extensions").child(SPECULAR_GLOSSINESS)
    is_legacy = bool(legacy.raw)
    source, prefix = (legacy, "diffuse") if is_legacy else (surface, "baseColor")
    color = source.numbers(f"{prefix}Factor", 4) or [1.0] * 4
    alpha_mode = material.text("alphaMode", "OPAQUE")
    if alpha_mode not in ("OPAQUE", "MASK", "BLEND"):  # only the look is at stake
        warnings.append(f"{material.where}.alphaMode must be OPAQUE, MASK or BLEND, got {alpha_mode[:20]!r}: opaque")
        alpha_mode = "OPAQUE"
    texture, wrap, uv_set = _base_texture(document, source.child(f"{prefix}Texture"), images)
    # Where only a part glows a texture says which, and that is not read: better none than all of it.
    glow = None if "emissiveTexture" in material else material.numbers("emissiveFactor", 3)
    red, green, blue = glow or [0.0] * 3
    found = Material(
        name=material.name(),
        base_color=(color[0], color[1], color[2], color[3]),
        texture=texture,
        wrap=wrap,
        metallic=0.0 if is_legacy else surface.number("metallicFactor", 1.0),
        roughness=1.0 if is_legacy else surface.number("roughnessFactor", 1.0),
        emissive=(red, green, blue),
        alpha_mode=alpha_mode,  # type: ignore[arg-type]  # checked above
        alpha_cutoff=material.number("alphaCutoff", 0.5),
        double_sided=material.flag("doubleSided"),
    )
    return found, uv_set


def _base_texture(
    document: Document, reference: Fields, images: list[Texture | None]
) -> tuple[Texture | None, tuple[int, int], int]:
    textures, samplers = document.lists["textures"], document.lists["samplers"]
    index = reference.index("index", len(textures), "textures")
    uv_set = reference.integer("texCoord", 0, high=99)
    if index is None:
        return None, (10497, 10497), uv_set
    texture = textures[index]
    image = texture.index("source", len(images), "images")
    for name in OTHER_IMAGE_SOURCES:
        if image is None:
            image = texture.child("extensions").child(name).index("source", len(images), "images")
    sampler_index = texture.index("sampler", len(samplers), "samplers")
    sampler = samplers[sampler_index] if sampler_index is not None else Fields({}, "sampler")
    wrap = (sampler.integer("wrapS", 10497), sampler.integer("wrapT", 10497))
    return (images[image] if image is not None else None), wrap, uv_set


def _read_texture(
    document: Document, accessors: Accessors, image: Fields, room: int, warnings: list[str]
) -> Texture | None:
    """An image's bytes; one that cannot be read is a warning, since the character can be animated without it."""
    try:
        view = image.index("bufferView", len(document.lists["bufferViews"]), "bufferViews")
        seen = accessors.view_bytes(view) if view is not None else document.resolve(image.text("uri"), image.where)
        if len(seen) > room:
            raise AssetError(f"{image.where}: the images take more than {LARGEST_IMAGES // 2**20} MiB together")
    except AssetError as error:
        warnings.append(f"a texture is missing: {error}")
        return None
    data = bytes(seen)
    return Texture(data, image.text("mimeType") or mime_of(data), image.name())
