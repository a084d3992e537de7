import dataclasses

import numpy as np
import pytest
from creatures import dog
from PIL import Image

from gambol import GambolError, analyze
from gambol.character.sketch import joint_colors, sketch


def test_the_picture_shows_each_part_in_its_colour(tmp_path):
    character = dog()
    anatomy = analyze(character)
    sketch(character, anatomy, tmp_path / "dog.png", size=240)
    image = Image.open(tmp_path / "dog.png")
    assert image.width == 3 * 240
    drawn = np.asarray(image)[20:260].reshape(-1, 3).astype(float)  # without titles and legend
    directions = drawn / np.linalg.norm(drawn, axis=1, keepdims=True).clip(1)
    for name, color in dict(joint_colors(anatomy)).items():  # shading changes brightness, not hue
        hue = np.array(color) / np.linalg.norm(color)
        assert ((directions @ hue > 0.999) & (drawn.max(1) < 250)).sum() > 50, name


def test_left_and_right_do_not_share_a_colour():
    colors = dict(joint_colors(analyze(dog())))
    assert len(set(colors.values())) == len(colors)


def test_a_rig_without_a_mesh_is_drawn_as_bones(tmp_path):
    character = dataclasses.replace(dog(), meshes=())
    sketch(character, analyze(character), tmp_path / "bones.png", size=200)
    assert np.asarray(Image.open(tmp_path / "bones.png")).std() > 5


def test_a_picture_that_cannot_be_written_is_a_clear_error(tmp_path):
    character = dog()
    with pytest.raises(GambolError, match=r"cannot be written.*\.png"):
        sketch(character, analyze(character), tmp_path / "missing" / "dog.png")
    with pytest.raises(GambolError, match=r"cannot be written.*\.png"):
        sketch(character, analyze(character), tmp_path / "dog.nonsense")
