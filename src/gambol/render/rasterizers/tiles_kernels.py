# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Blending with a thread for each pixel, on CUDA and CPU alike. `gambol.render.rasterizers.tiles` launches it.

Threads are numbered tile after tile, so that a block of SIDE * SIDE threads is a tile and all its threads read the
same splats at the same time.
"""

from gambol.render.rasterizers.semantics import ALPHA_CUT, ALPHA_MOST, STOP
from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

SIDE = 16
"""Side of a tile [pixels]."""

side = wp.constant(SIDE)
alpha_cut = wp.constant(ALPHA_CUT)
alpha_most = wp.constant(ALPHA_MOST)
stop = wp.constant(STOP)


@wp.func
def pixel_of(thread: int, width: int, height: int):
    """The tile of a thread (of all frames), and its pixel: frame, row and column; a row of -1 outside the picture."""
    tiles_across = (width + side - 1) // side
    tiles_down = (height + side - 1) // side
    tile = thread // (side * side)
    within = thread % (side * side)
    frame = tile // (tiles_across * tiles_down)
    here = tile % (tiles_across * tiles_down)
    row = (here // tiles_across) * side + within // side
    column = (here % tiles_across) * side + within % side
    if row >= height or column >= width:
        row = -1
    return tile, frame, row, column


@wp.func
def falloff(offset: wp.vec2, conic: wp.vec3):
    """exp(-s) with s half the squared Mahalanobis distance."""
    x = offset[0]
    y = offset[1]
    return wp.exp(-0.5 * (conic[0] * x * x + conic[2] * y * y) - conic[1] * x * y)


@wp.kernel
def forward_kernel(
    width: int,
    height: int,
    starts_in: wp.array(dtype=wp.int32),
    order_in: wp.array(dtype=wp.int32),
    centers_in: wp.array(dtype=wp.vec2),
    conics_in: wp.array(dtype=wp.vec3),
    opacities_in: wp.array(dtype=wp.float32),
    colors_in: wp.array(dtype=wp.vec3),
    image_out: wp.array3d(dtype=wp.vec3),
    transmittance_out: wp.array3d(dtype=wp.float32),
):
    """The splats of a tile, from starts_in[tile] to starts_in[tile + 1] in order_in, front to back."""
    tile, frame, row, column = pixel_of(wp.tid(), width, height)
    if row < 0:
        return
    pixel = wp.vec2(float(column) + 0.5, float(row) + 0.5)
    color = wp.vec3(0.0, 0.0, 0.0)
    through = wp.float32(1.0)
    pair = starts_in[tile]
    end = starts_in[tile + 1]
    while pair < end and through > stop:
        splat = order_in[pair]
        alpha = wp.min(opacities_in[splat] * falloff(pixel - centers_in[splat], conics_in[splat]), alpha_most)
        if alpha >= alpha_cut:
            color += through * alpha * colors_in[splat]
            through *= 1.0 - alpha
        pair += 1
    image_out[frame, row, column] = color
    transmittance_out[frame, row, column] = through


@wp.kernel
def backward_kernel(
    width: int,
    height: int,
    starts_in: wp.array(dtype=wp.int32),
    order_in: wp.array(dtype=wp.int32),
    centers_in: wp.array(dtype=wp.vec2),
    conics_in: wp.array(dtype=wp.vec3),
    opacities_in: wp.array(dtype=wp.float32),
    colors_in: wp.array(dtype=wp.vec3),
    image_in: wp.array3d(dtype=wp.vec3),
    transmittance_in: wp.array3d(dtype=wp.float32),
    grad_image_in: wp.array3d(dtype=wp.vec3),
    grad_alpha_in: wp.array3d(dtype=wp.float32),
    grad_centers_out: wp.array(dtype=wp.vec2),
    grad_conics_out: wp.array(dtype=wp.vec3),
    grad_opacities_out: wp.array(dtype=wp.float32),
    grad_colors_out: wp.array(dtype=wp.vec3),
):
    """Front to back like the forward pass. `behind` is what the splats behind the present one, and the emptiness behind
    them, add to the loss; d loss / d alpha = T (c . g) - behind / (1 - alpha).
    """
    tile, frame, row, column = pixel_of(wp.tid(), width, height)
    if row < 0:
        return
    pixel = wp.vec2(float(column) + 0.5, float(row) + 0.5)
    grad = grad_image_in[frame, row, column]
    behind = wp.dot(image_in[frame, row, column], grad)
    behind -= grad_alpha_in[frame, row, column] * transmittance_in[frame, row, column]
    through = wp.float32(1.0)
    pair = starts_in[tile]
    end = starts_in[tile + 1]
    while pair < end and through > stop:
        splat = order_in[pair]
        pair += 1
        offset = pixel - centers_in[splat]
        conic = conics_in[splat]
        fall = falloff(offset, conic)
        reached = opacities_in[splat] * fall
        alpha = wp.min(reached, alpha_most)
        if alpha < alpha_cut:
            continue
        shine = wp.dot(colors_in[splat], grad)
        behind -= through * alpha * shine
        wp.atomic_add(grad_colors_out, splat, through * alpha * grad)
        if reached <= alpha_most:
            grad_alpha = through * shine - behind / (1.0 - alpha)
            wp.atomic_add(grad_opacities_out, splat, grad_alpha * fall)
            x = offset[0]
            y = offset[1]
            grad_s = -grad_alpha * alpha
            toward = wp.vec2(conic[0] * x + conic[1] * y, conic[1] * x + conic[2] * y)
            wp.atomic_add(grad_centers_out, splat, -grad_s * toward)
            wp.atomic_add(grad_conics_out, splat, grad_s * wp.vec3(0.5 * x * x, x * y, 0.5 * y * y))
        through *= 1.0 - alpha
