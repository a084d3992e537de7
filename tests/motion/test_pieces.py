"""Bodies of several roots, as a blob whose foot and head hang on nothing, turn as one piece."""

import numpy as np
import torch
from character.creatures import CLAY, GREY

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.motion.body_tracks import BodyTracks, rig_motion_of_tracks
from gambol.motion.chains import STATIONS, find_chains


def two_pieces():
    return CLAY["clay"](
        "blob",
        {
            "foot": (None, (0, 0.25, 0), (0, 0.3, 0.05), 0.3, 0.35, GREY),
            "body": (None, (0, 0.5, 0), (0, 0.7, 0), 0.4, 0.38, GREY),
            "head": ("body", (0, 0.7, 0), (0, 0.9, 0.05), 0.38, 0.3, GREY),
        },
    )


def test_pieces_keep_their_distance_when_the_whole_body_pitches():
    anatomy = analyze(two_pieces())
    chains, rig = find_chains(anatomy), build_rig(anatomy)
    assert (anatomy.body.parents < 0).sum() == 2
    angle = torch.linspace(0, 1.5, 20)
    sin, cos, one, zero = angle.sin(), angle.cos(), torch.ones(20), torch.zeros(20)
    pitch = torch.stack([one, zero, zero, zero, cos, sin, zero, -sin, cos], -1).unflatten(-1, (3, 3))
    rotations = pitch[:, None, None].expand(20, len(chains.chains), STATIONS, 3, 3).clone()
    empty = torch.zeros(20, len(chains.chains))
    tracks = BodyTracks(rotations, torch.zeros(20), torch.zeros(20, 2), empty, 1.0, False, torch.zeros(2))
    world = rig_motion_of_tracks(chains, rig, tracks).world(rig).double().numpy()
    rest = anatomy.body.T_world_node[anatomy.body.nodes]
    moved = world[..., :3] @ np.linalg.inv(rest[:, :3, :3])
    assert np.abs(moved - moved[:, :1]).max() < 1e-4  # all turn alike
    between = world[:, 1, :, 3] - world[:, 0, :, 3]
    wanted = moved[:, 0] @ (rest[1, :3, 3] - rest[0, :3, 3])
    assert np.abs(between - wanted).max() < 1e-4
