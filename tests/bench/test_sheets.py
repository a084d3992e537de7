"""Contact sheets of motions."""

from dataclasses import replace

import numpy as np
import pytest
from motion.strides import stride

from gambol import GambolError
from gambol.bench.body_motion import body_motion_of
from gambol.bench.sheets import FRAMES, draw_sheet, write_sheet

SIZE = 48


@pytest.fixture(scope="module")
def walking():
    made = stride("human", "walk")
    return made.character, body_motion_of(made.character, made.clip, made.anatomy)


def cells(sheet, rows):
    """The frames of a sheet, without what is below them."""
    height = sheet.shape[0] // rows
    gap = (sheet.shape[1] - FRAMES * SIZE) // (FRAMES - 1)
    return np.array(
        [[sheet[row * height :, x * (SIZE + gap) :][:SIZE, :SIZE] for x in range(FRAMES)] for row in range(rows)]
    ).astype(int)


def test_each_motion_has_a_row_for_each_view(walking):
    character, motion = walking
    far = np.array([0.0, 0.0, 30.0])
    onwards = replace(motion, vertices=motion.vertices + far, strokes=motion.strokes + far)
    high = np.array([0.0, 0.3, 0.0])
    floats = replace(motion, vertices=motion.vertices + high, strokes=motion.strokes + high)
    sheet = draw_sheet(character, {"a": motion, "b": onwards, "c": floats}, size=SIZE)
    found = cells(sheet, 6)
    assert (np.abs(np.diff(found[0], axis=0)).max((1, 2, 3)) > 60).all(), "it moves"
    assert np.abs(found[0] - found[1]).mean() > 2, "from the side and from the front"
    dark = found.min(-1) < 110
    middles = [np.array([np.argwhere(cell).mean(0) for cell in row]) for row in dark]
    np.testing.assert_allclose(middles[2], middles[0], atol=2.5), "the camera goes along"
    assert (middles[4][:, 0] < middles[0][:, 0] - 4).all(), "but not up"


def test_a_sheet_is_written(walking, tmp_path):
    character, motion = walking
    write_sheet(character, {"AKD": motion}, tmp_path / "sheet.png", views=("side",), size=SIZE)
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_who_has_no_skin_cannot_be_drawn(walking):
    character, motion = walking
    with pytest.raises(GambolError, match="no mesh with faces"):
        draw_sheet(replace(character, meshes=()), {"AKD": motion})
