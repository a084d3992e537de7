# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""The studio behind a character: a tiled floor with soft shadows that fades into the backdrop."""

from gambol.render.drawing_kernels import CameraArrays, ahead_at, floor_distance, floor_up
from gambol.render.lighting_kernels import LampArrays, facing_light
from gambol.render.surface_kernels import encode
from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})


@wp.struct
class StudioArrays:
    east: wp.vec3  # along the tiles, in tiles
    north: wp.vec3
    corner: wp.vec2  # where in the pattern the origin is
    light_tile: wp.vec3  # linear
    dark_tile: wp.vec3
    horizon: wp.vec3  # sRGB
    zenith: wp.vec3
    fade_from: float  # distance from the camera where the floor begins to fade, and where it is gone
    fade_to: float
    key: wp.vec3  # what one lamp gives to the floor, where all together give 1
    sky: wp.vec3


@wp.kernel
def floor_light_kernel(
    view: CameraArrays,
    lamps: LampArrays,
    room: StudioArrays,
    first: int,
    step: int,
    first_lamp: int,
    last_lamp: int,
    light_out: wp.array(dtype=wp.float32, ndim=2),
):
    """Light of some lamps on the floor, seen at the centres of the blocks of pixels the output stands for."""
    line, column = wp.tid()
    row = first + step * line
    x = (float(column) + 0.5) * float(view.width) / float(light_out.shape[1])
    y = (float(row) + 0.5) * float(view.height) / float(light_out.shape[0])
    direction = ahead_at(view, 0, x, y)
    distance = wp.clamp(floor_distance(view, view.position[0], direction), 0.0, room.fade_to)
    up = floor_up(view)
    point = view.position[0] + distance * direction + lamps.cell * up
    light_out[row, column] = facing_light(lamps, first_lamp, last_lamp, 1, point, up)


@wp.func
def wave(position: float, width: float):
    """The mean over a width of the wave that is 1 up to 1, -1 up to 2, and so on."""
    low = position - 0.5 * width
    high = position + 0.5 * width
    rise = wp.abs(2.0 * (0.5 * high - wp.floor(0.5 * high)) - 1.0) - wp.abs(
        2.0 * (0.5 * low - wp.floor(0.5 * low)) - 1.0
    )
    return -rise / width


@wp.func
def tile_share(view: CameraArrays, room: StudioArrays, direction: wp.vec3, point: wp.vec3):
    """How much of a pixel shows light tiles, 0 to 1: the pattern's mean over what the pixel covers of the floor."""
    rotation = view.T_camera_world[0]
    right = direction + wp.vec3(rotation[0, 0], rotation[0, 1], rotation[0, 2]) / view.focal[0][0]
    below = direction + wp.vec3(rotation[1, 0], rotation[1, 1], rotation[1, 2]) / view.focal[0][1]
    beside = view.position[0] + wp.abs(floor_distance(view, view.position[0], right)) * right - point
    nearer = view.position[0] + wp.abs(floor_distance(view, view.position[0], below)) * below - point
    width = wp.abs(wp.dot(room.east, beside)) + wp.abs(wp.dot(room.east, nearer)) + 1.0e-4
    depth = wp.abs(wp.dot(room.north, beside)) + wp.abs(wp.dot(room.north, nearer)) + 1.0e-4
    across = wave(wp.dot(room.east, point) + room.corner[0], width)
    along = wave(wp.dot(room.north, point) + room.corner[1], depth)
    return 0.5 + 0.5 * across * along


@wp.func
def between(light: wp.array(dtype=wp.float32, ndim=2), x: float, y: float):
    """Bilinear, x and y from 0 to 1."""
    rows = light.shape[0]
    columns = light.shape[1]
    cell_x = wp.clamp(x * float(columns) - 0.5, 0.0, float(columns - 1))
    cell_y = wp.clamp(y * float(rows) - 0.5, 0.0, float(rows - 1))
    left = int(cell_x)
    top = int(cell_y)
    right = wp.min(left + 1, columns - 1)
    low = wp.min(top + 1, rows - 1)
    across = cell_x - float(left)
    down = cell_y - float(top)
    above = (1.0 - across) * light[top, left] + across * light[top, right]
    below = (1.0 - across) * light[low, left] + across * light[low, right]
    return (1.0 - down) * above + down * below


@wp.kernel
def room_kernel(
    view: CameraArrays,
    room: StudioArrays,
    first: int,
    step: int,
    key_in: wp.array(dtype=wp.float32, ndim=2),
    sky_in: wp.array(dtype=wp.float32, ndim=2),
    picture_out: wp.array(dtype=wp.vec3, ndim=2),
):
    """Colour of the floor and of the backdrop at each pixel."""
    line, column = wp.tid()
    row = first + step * line
    x = float(column) + 0.5
    y = float(row) + 0.5
    direction = ahead_at(view, 0, x, y)
    distance = floor_distance(view, view.position[0], direction)
    climb = wp.clamp(3.0 * wp.dot(floor_up(view), direction), 0.0, 1.0)
    color = room.horizon + climb * climb * (3.0 - 2.0 * climb) * (room.zenith - room.horizon)
    if distance > 0.0:
        far = wp.clamp((distance - room.fade_from) / (room.fade_to - room.fade_from), 0.0, 1.0)
        seen = (1.0 - far) * (1.0 - far)
        if seen > 0.0:
            share = tile_share(view, room, direction, view.position[0] + distance * direction)
            tile = room.dark_tile + share * (room.light_tile - room.dark_tile)
            across = x / float(view.width)
            down = y / float(view.height)
            lit = wp.cw_mul(tile, between(key_in, across, down) * room.key + between(sky_in, across, down) * room.sky)
            shown = wp.vec3(encode(lit[0]), encode(lit[1]), encode(lit[2]))
            color = seen * shown + (1.0 - seen) * room.horizon
    picture_out[row, column] = color
