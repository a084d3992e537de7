"""Movies: what is written can be read again, by browsers too, and mistakes leave no file behind."""

import weakref

import av
import numpy as np
import pytest
from PIL import Image

from gambol import GambolError
from gambol.render.movie import check_movie, contact_sheet, evenly, write_movie, write_picture

COLORS = np.array([(230, 140, 40), (20, 60, 200), (240, 240, 235)], np.uint8)


def frames(count=10, height=48, width=64):
    """Three stripes; a dark square that walks over them."""
    for number in range(count):
        frame = np.repeat(COLORS, height // 3, axis=0)[:, None].repeat(width, axis=1).copy()
        frame[8:24, 3 * number : 3 * number + 16] = 30
        yield frame


def read_gif(path):
    with Image.open(path) as image:
        found = []
        for number in range(image.n_frames):
            image.seek(number)
            found.append((np.asarray(image.convert("RGB")), image.info["duration"]))
        return found, image.info


@pytest.mark.parametrize("fps", [30, 23.976, 8])
def test_an_mp4_is_what_browsers_play(tmp_path, fps):
    path = tmp_path / "a.mp4"
    write_movie(frames(), path, fps)
    with av.open(str(path)) as movie:
        stream = movie.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert float(stream.average_rate) == pytest.approx(fps, rel=1e-3)
        read = [frame.to_ndarray(format="rgb24") for frame in movie.decode(video=0)]
    assert len(read) == 10
    for original, found in zip(frames(), read, strict=True):
        assert np.abs(original.astype(int) - found).mean() < 4  # colours are half as fine as brightness
    data = path.read_bytes()
    assert 0 < data.index(b"moov") < data.index(b"mdat")  # plays before all of it is there


def test_colours_of_an_mp4_are_exact_to_two_steps(tmp_path):
    plain = [np.full((32, 32, 3), color, np.uint8) for color in COLORS]
    write_movie([frame for frame in plain for _ in range(4)], tmp_path / "a.mp4", 10)
    with av.open(str(tmp_path / "a.mp4")) as movie:
        read = [frame.to_ndarray(format="rgb24") for frame in movie.decode(video=0)]
    for color, frame in zip(COLORS, read[::4], strict=True):
        assert np.abs(frame.astype(int) - color).max() <= 2


def test_an_mp4_does_not_keep_its_frames(tmp_path):
    alive = []

    def coming():
        for frame in frames(30):
            alive.append(weakref.ref(frame))
            yield frame
            del frame
            assert sum(reference() is not None for reference in alive) < 6

    write_movie(coming(), tmp_path / "a.mp4", 30)


@pytest.mark.parametrize(("fps", "kept"), [(30, 20), (12.5, 20), (60, 10), (120, 7)])
def test_a_gif_is_as_long_as_it_should_be(tmp_path, fps, kept):
    write_movie(frames(20), tmp_path / "a.gif", fps)
    found, info = read_gif(tmp_path / "a.gif")
    assert info["loop"] == 0
    assert len(found) == kept
    assert sum(duration for _, duration in found) == pytest.approx(20_000 / fps, abs=10)
    assert min(duration for _, duration in found) >= 20
    step = -(-20 // kept)
    for original, (frame, _) in zip(list(frames(20))[::step], found, strict=True):
        assert np.abs(original.astype(int) - frame).max() <= 2  # four colours fit into a palette


def test_a_contact_sheet_holds_frames_and_labels():
    every, chosen = list(frames(29, 60, 90)), evenly(29, 8)
    pixels = contact_sheet([every[number] for number in chosen], [f"{number / 10:.2f} s" for number in chosen])
    assert pixels.shape[1] >= 4 * 90
    columns = (pixels.shape[1] - 4 * 90) // 3 + 90
    strip = pixels.shape[0] // 2
    for number, frame in enumerate(chosen):
        x, y = number % 4 * columns, number // 4 * strip
        np.testing.assert_array_equal(pixels[y : y + 60, x : x + 90], every[frame])
        assert np.ptp(pixels[y + 60 : y + strip, x : x + 90]) > 50  # there is a label


def test_few_frames_make_a_small_sheet():
    frame = next(frames())
    one, two = contact_sheet([frame], ["first"]), contact_sheet([frame, frame], ["a", "b"], columns=1)
    assert one.shape[1] == two.shape[1] == 64
    assert two.shape[0] == 2 * one.shape[0]


@pytest.mark.parametrize(("count", "most"), [(1, 8), (5, 8), (8, 8), (9, 8), (100, 8)])
def test_frames_are_evenly_spaced(count, most):
    chosen = evenly(count, most)
    assert chosen[0] == 0
    assert chosen[-1] == count - 1
    assert len(chosen) == min(count, most)
    assert np.ptp(np.diff(chosen)) <= 1 if len(chosen) > 1 else True


def test_mistakes_are_named_before_the_work(tmp_path):
    with pytest.raises(GambolError, match=r"written as \.mp4, \.gif, \.png"):
        check_movie(tmp_path / "a.avi")
    with pytest.raises(GambolError, match="is a file, not a folder"):
        check_movie(__file__ + "/missing/a.mp4")
    with pytest.raises(GambolError, match="is a folder"):
        (tmp_path / "b.mp4").mkdir()
        check_movie(tmp_path / "b.mp4")
    with pytest.raises(GambolError, match="even width and height, got 63 x 48"):
        write_movie([np.zeros((48, 63, 3), np.uint8)], tmp_path / "a.mp4", 30)
    with pytest.raises(GambolError, match="frames per second"):
        write_movie(frames(), tmp_path / "a.mp4", 0)
    with pytest.raises(ValueError, match="at least one frame"):
        write_movie([], tmp_path / "a.mp4", 30)
    with pytest.raises(ValueError, match="all frames must be 48 x 64"):
        write_movie([*frames(2), np.zeros((10, 10, 3), np.uint8)], tmp_path / "a.mp4", 30)
    assert [path.name for path in tmp_path.iterdir()] == ["b.mp4"]


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_movie_that_fails_leaves_the_old_one(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"old")

    def failing():
        yield from frames(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_movie(failing(), path, 30)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.mp4", "a.gif", "a.png"])
def test_missing_folders_are_made(tmp_path, name):
    path = tmp_path / "b" / "c" / name
    check_movie(path)
    assert not any(tmp_path.iterdir())  # before there is something to write
    if name.endswith("png"):
        write_picture(next(frames()), path)
    else:
        write_movie(frames(), path, 10)
    assert path.stat().st_size


def test_pictures_are_exact(tmp_path):
    write_picture(next(frames()), tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        np.testing.assert_array_equal(np.asarray(image), next(frames()))
