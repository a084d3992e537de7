"""Images that files hold: what kind they are, and as PNG where that kind cannot be held or shown."""

from __future__ import annotations

import io

from gambol.character.character import Texture
from gambol.errors import AssetError
from gambol.text import printable

LARGEST_IMAGES = 1024**3
"""Largest size of all images of a file together [bytes]. A small file can name the same bytes many times over."""
LARGEST_PICTURE = 64 * 2**20
"""Pixels of an image that is converted."""
SIGNATURES = (
    (0, b"\x89PNG", "image/png"),
    (0, b"\xff\xd8", "image/jpeg"),
    (0, b"\xabKTX 20\xbb", "image/ktx2"),
    (4, b"ftypavif", "image/avif"),
    (8, b"WEBP", "image/webp"),
)
"""Where in its bytes an image says what kind it is, how, and its MIME type: what glTF can hold."""
CONVERTED = ("BMP", "DDS", "GIF", "JPEG2000", "PSD", "TGA", "TIFF", "WEBP", "AVIF")
"""Kinds that are converted, as Pillow calls them."""
ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg"}
"""Kinds that every program shows, which are written into files that are not glTF as they are."""


def mime_of(data: bytes) -> str:
    """What kind of image this is, by its first bytes."""
    found = (mime for offset, start, mime in SIGNATURES if data.startswith(start, offset))
    return next(found, "application/octet-stream")


def read_texture(data: bytes, name: str) -> Texture:
    """An image as it was found, or as PNG if glTF cannot hold its kind; AssetError if it is of no kind that is read."""
    mime = mime_of(data)
    if any(mime == known for *_, known in SIGNATURES):
        return Texture(data, mime, printable(name))
    return Texture(as_png(data, name), "image/png", printable(name))


def shown_anywhere(texture: Texture) -> Texture:
    """The image as PNG or JPEG, which every program shows; AssetError if it cannot be converted."""
    mime = mime_of(texture.data)
    if mime in ENDINGS:
        return Texture(texture.data, mime, texture.name)
    return Texture(as_png(texture.data, texture.name), "image/png", texture.name)


def as_png(data: bytes, name: str) -> bytes:
    """An image of one of the kinds of CONVERTED as PNG."""
    from PIL import Image

    Image.init()
    try:
        with Image.open(io.BytesIO(data), formats=[kind for kind in CONVERTED if kind in Image.OPEN]) as image:
            if image.width * image.height > LARGEST_PICTURE:
                raise AssetError(f"the image {name[:80]!r} has {image.width} x {image.height} pixels")
            target = io.BytesIO()
            image.convert("RGBA").save(target, "PNG")
            return target.getvalue()
    except AssetError:
        raise
    except Exception:  # whatever a broken image makes Pillow raise
        raise AssetError(f"the image {name[:80]!r} is of a kind that is not read") from None
