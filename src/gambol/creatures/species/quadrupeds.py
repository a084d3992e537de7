"""Four upright legs."""

from gambol.creatures.colors import Coat
from gambol.creatures.heads import Head
from gambol.creatures.quadruped import Quadruped

# Tables read better with several numbers a line.
# fmt: off
CATS: dict[str, Quadruped] = {
    "cat": Quadruped(
        height=0.26, length=0.95, chest_depth=0.38, belly_depth=0.36, hip_depth=0.38, width=0.82, haunch=0.16,
        shank=0.075, cannon=0.045, foot=0.058, foot_length=0.09, hock_height=0.22, wrist_height=0.15,
        knee_forward=0.1, hock_back=0.1, stance=0.11, neck_length=0.2, neck_angle=45, neck_base=0.14, neck_top=0.12,
        tail_length=1.05, tail_angle=10, tail_curl=110, tail_base=0.045, tail_tip=0.035, tail_bones=6,
        head=Head(
            skull=0.175, width=1.0, length=0.27, pitch=-8, snout=0.055, snout_base=0.1, snout_width=1.25,
            cheek=0.09, nose=0.022, ears="pointed", ear_length=0.17, ear_width=0.16, ear_tilt=18, eye=0.042,
            eye_azimuth=33, eye_height=16,
        ),
        coat=Coat(
            "#d98b3f", belly="#f5e3c8", feet="#f0d9b5", muzzle="#f7ead6", ears="#e7a9a0", nose="#c9746c",
            tail_tip="#a8622a", mark="#a8622a", pattern="stripes", pattern_size=0.055, iris="#7fa13a",
        ),
    ),
    "lion": Quadruped(
        height=1.0, length=0.95, chest_depth=0.42, belly_depth=0.36, hip_depth=0.38, width=0.75, haunch=0.16,
        shank=0.075, cannon=0.05, foot=0.065, foot_length=0.1, hock_height=0.24, wrist_height=0.15, stance=0.12,
        neck_length=0.24, neck_angle=38, neck_base=0.18, neck_top=0.15, tail_length=0.8, tail_angle=-45,
        tail_curl=60, tail_base=0.035, tail_tip=0.025, tail_tuft=0.05, tail_bones=6, mane="ruff",
        head=Head(
            skull=0.15, width=0.95, length=0.3, pitch=-12, snout=0.07, snout_base=0.095, snout_width=1.15,
            cheek=0.06, nose=0.032, ears="round", ear_length=0.09, ear_width=0.1, ear_tilt=40, eye=0.022,
            eye_azimuth=36, eye_height=20,
        ),
        coat=Coat(
            "#cf9d5b", belly="#ecd9b4", muzzle="#efe0c4", mane="#7a4520", ears="#c08c58", iris="#c98a20",
        ),
    ),
    "tiger": Quadruped(
        height=0.95, length=1.05, chest_depth=0.42, belly_depth=0.38, hip_depth=0.4, width=0.78, haunch=0.17,
        shank=0.08, cannon=0.055, foot=0.07, foot_length=0.1, hock_height=0.24, wrist_height=0.15, stance=0.13,
        neck_length=0.24, neck_angle=28, neck_base=0.19, neck_top=0.16, tail_length=0.95, tail_angle=-40,
        tail_curl=75, tail_base=0.04, tail_tip=0.035, tail_bones=6,
        head=Head(
            skull=0.165, width=1.0, length=0.31, pitch=-10, snout=0.075, snout_base=0.1, snout_width=1.2,
            cheek=0.085, nose=0.032, ears="round", ear_length=0.1, ear_width=0.11, ear_tilt=40, eye=0.024,
            eye_azimuth=36, eye_height=20,
        ),
        coat=Coat(
            "#e08a2c", belly="#f6ecd8", muzzle="#faf3e4", ears="#f3e6cf", pattern="stripes", pattern_size=0.07,
            mark="#1b1410", iris="#d9a020", nose="#b86a5c", tail_tip="#1b1410",
        ),
    ),
}

DOGS: dict[str, Quadruped] = {
    "dog": Quadruped(
        height=0.55, length=0.8, chest_depth=0.44, belly_depth=0.33, hip_depth=0.36, width=0.72, haunch=0.15,
        shank=0.07, cannon=0.042, foot=0.058, foot_length=0.09, neck_length=0.27, neck_angle=52, neck_base=0.16,
        neck_top=0.125, tail_length=0.6, tail_angle=35, tail_curl=60, tail_base=0.045, tail_tip=0.025,
        head=Head(
            skull=0.145, width=0.95, length=0.38, pitch=-10, snout=0.068, snout_base=0.095, nose=0.035,
            ears="floppy", ear_length=0.26, ear_width=0.16, eye=0.03, eye_azimuth=36, eye_height=22,
        ),
        coat=Coat(
            "#b98048", belly="#ead3ac", feet="#d9b582", muzzle="#e9d3ae", ears="#6f4524", tail_tip="#e9d3ae",
        ),
    ),
    "dalmatian": Quadruped(
        height=0.58, length=0.82, chest_depth=0.43, belly_depth=0.31, hip_depth=0.34, width=0.7, haunch=0.15,
        shank=0.068, cannon=0.04, foot=0.055, foot_length=0.09, neck_length=0.3, neck_angle=52, neck_base=0.14,
        neck_top=0.11, tail_length=0.65, tail_angle=10, tail_curl=50, tail_base=0.04, tail_tip=0.018,
        head=Head(
            skull=0.135, width=0.9, length=0.37, pitch=-12, snout=0.062, snout_base=0.088, nose=0.034,
            ears="floppy", ear_length=0.22, ear_width=0.14, eye=0.028, eye_azimuth=38, eye_height=22,
        ),
        coat=Coat(
            "#f4f1ea", ears="#191716", pattern="spots", pattern_size=0.055, mark="#191716",
        ),
    ),
    "fox": Quadruped(
        height=0.38, length=0.95, chest_depth=0.4, belly_depth=0.34, hip_depth=0.37, width=0.75, haunch=0.14,
        shank=0.065, cannon=0.038, foot=0.048, foot_length=0.08, neck_length=0.24, neck_angle=40, neck_base=0.15,
        neck_top=0.12, tail_length=0.95, tail_angle=-25, tail_curl=25, tail_base=0.05, tail_tip=0.035,
        tail_bush=0.085, tail_bones=5,
        head=Head(
            skull=0.15, width=0.98, length=0.4, pitch=-10, snout=0.032, snout_base=0.09, cheek=0.085, nose=0.03,
            ears="pointed", ear_length=0.22, ear_width=0.17, ear_tilt=16, eye=0.03, eye_azimuth=36, eye_height=20,
        ),
        coat=Coat(
            "#d2622a", belly="#f4e9da", feet="#231815", muzzle="#f7efe4", ears="#2a1c16", tail_tip="#f7efe4",
            iris="#a06a1a",
        ),
    ),
    "wolf": Quadruped(
        height=0.8, length=0.85, chest_depth=0.43, belly_depth=0.34, hip_depth=0.37, width=0.72, haunch=0.15,
        shank=0.07, cannon=0.042, foot=0.058, foot_length=0.1, neck_length=0.26, neck_angle=30, neck_base=0.19,
        neck_top=0.15, tail_length=0.55, tail_angle=-55, tail_curl=15, tail_base=0.05, tail_tip=0.03,
        tail_bush=0.04,
        head=Head(
            skull=0.14, width=0.98, length=0.4, pitch=-10, snout=0.05, snout_base=0.09, cheek=0.085, nose=0.032,
            ears="pointed", ear_length=0.15, ear_width=0.12, ear_tilt=14, eye=0.022, eye_azimuth=36, eye_height=20,
        ),
        coat=Coat(
            "#6d6a68", belly="#d8d2c6", feet="#b9b0a2", muzzle="#e2dcd0", ears="#45413e", tail_tip="#2b2927",
            iris="#d8a520",
        ),
    ),
}

SMALL_AND_FURRY: dict[str, Quadruped] = {
    "bear": Quadruped(
        height=1.1, length=0.85, hip_height=0.97, chest_depth=0.52, belly_depth=0.52, hip_depth=0.54, width=0.85,
        back=0.03, haunch=0.2, shank=0.115, cannon=0.09, foot=0.095, foot_length=0.13, hock_height=0.13,
        wrist_height=0.12, knee_forward=0.1, hock_back=0.06, stance=0.17, neck_length=0.22, neck_angle=20,
        neck_base=0.24, neck_top=0.18, tail_length=0.1, tail_angle=-30, tail_base=0.05, tail_tip=0.04, tail_bones=2,
        head=Head(
            skull=0.175, width=1.0, length=0.37, pitch=-14, snout=0.07, snout_base=0.1, cheek=0.09, nose=0.036,
            ears="round", ear_length=0.11, ear_width=0.12, ear_tilt=35, eye=0.02, eye_azimuth=32, eye_height=22,
        ),
        coat=Coat(
            "#5b3a22", muzzle="#a8805a", ears="#4a2e1b", feet="#3f2817",
        ),
    ),
    "panda": Quadruped(
        height=0.8, length=0.82, hip_height=0.97, chest_depth=0.56, belly_depth=0.58, hip_depth=0.58, width=0.9,
        back=0.03, haunch=0.2, shank=0.125, cannon=0.1, foot=0.1, foot_length=0.12, hock_height=0.13,
        wrist_height=0.12, knee_forward=0.1, hock_back=0.05, stance=0.18, neck_length=0.2, neck_angle=25,
        neck_base=0.24, neck_top=0.2, tail_length=0.1, tail_angle=-30, tail_base=0.05, tail_tip=0.04, tail_bones=2,
        head=Head(
            skull=0.22, width=1.1, length=0.36, pitch=-14, snout=0.075, snout_base=0.12, cheek=0.12, nose=0.036,
            ears="round", ear_length=0.13, ear_width=0.14, ear_tilt=38, eye=0.026, eye_azimuth=34, eye_height=10,
        ),
        coat=Coat(
            "#f2efe8", feet="#1a1817", ears="#1a1817", mane="#1a1817", mark="#1a1817", pattern="panda",
        ),
    ),
    "mouse": Quadruped(
        height=0.04, length=1.0, hip_height=1.15, chest_depth=0.6, belly_depth=0.72, hip_depth=0.78, width=0.9,
        back=0.12, haunch=0.22, shank=0.085, cannon=0.05, foot=0.06, foot_length=0.16, hock_height=0.12,
        wrist_height=0.12, knee_forward=0.16, hock_back=0.06, stance=0.2, neck_length=0.14, neck_angle=20,
        neck_base=0.24, neck_top=0.2, tail_length=1.9, tail_angle=-35, tail_curl=60, tail_base=0.045,
        tail_tip=0.022, tail_bones=8, tail_paint="mark",
        head=Head(
            skull=0.24, width=0.92, length=0.52, pitch=-14, snout=0.045, snout_base=0.14, nose=0.035, ears="round",
            ear_length=0.32, ear_width=0.32, ear_tilt=40, eye=0.05, eye_azimuth=52, eye_height=18,
        ),
        coat=Coat(
            "#8d8580", belly="#d9d2cb", feet="#e0aca2", ears="#e3a9a0", nose="#d98a86", tail_tip="#d99e96",
            mark="#d99e96", eye="#0c0a0a", iris="#0c0a0a",
        ),
    ),
    "rabbit": Quadruped(
        height=0.17, length=0.9, hip_height=1.22, chest_depth=0.62, belly_depth=0.62, hip_depth=0.74, width=0.82,
        back=0.1, haunch=0.25, shank=0.1, cannon=0.06, foot=0.07, foot_length=0.22, hock_height=0.14,
        wrist_height=0.14, knee_forward=0.22, hock_back=0.08, stance=0.17, neck_length=0.2, neck_angle=45,
        neck_base=0.2, neck_top=0.16, tail_length=0.12, tail_angle=30, tail_base=0.09, tail_tip=0.1, tail_bones=2,
        tail_curl=30,
        head=Head(
            skull=0.22, width=0.88, length=0.4, pitch=-16, snout=0.085, snout_base=0.14, cheek=0.09, nose=0.028,
            ears="leaf", ear_length=0.62, ear_width=0.17, ear_tilt=12, eye=0.05, eye_azimuth=60, eye_height=16,
        ),
        coat=Coat(
            "#b79a78", belly="#efe6d8", muzzle="#e9dcc8", ears="#dba79b", nose="#c98a80", tail_tip="#fbf7f0",
        ),
    ),
}

GRAZERS: dict[str, Quadruped] = {
    "horse": Quadruped(
        height=1.6, length=0.72, chest_depth=0.44, belly_depth=0.42, hip_depth=0.43, width=0.72, back=-0.02,
        haunch=0.17, shank=0.075, cannon=0.036, foot=0.052, foot_length=0.09, hock_height=0.35, wrist_height=0.31,
        knee_forward=0.1, hock_back=0.09, stance=0.115, feet="hoof", neck_length=0.52, neck_angle=42, neck_curl=14,
        neck_base=0.17, neck_top=0.095, neck_bones=3, tail_length=0.68, tail_angle=-40, tail_curl=-45,
        tail_base=0.035, tail_tip=0.03, tail_bush=0.045, tail_paint="mane", mane="crest",
        head=Head(
            skull=0.105, width=0.78, length=0.44, pitch=-40, snout=0.052, snout_base=0.09, snout_width=0.92,
            cheek=0.07, nose=0.0, ears="leaf", ear_length=0.11, ear_width=0.055, ear_tilt=10, eye=0.024,
            eye_azimuth=62, eye_height=22,
        ),
        coat=Coat(
            "#7b4a2a", feet="#2b1c14", muzzle="#3c2418", mane="#221812", tail_tip="#221812", ears="#6b4128",
        ),
    ),
    "zebra": Quadruped(
        height=1.3, length=0.76, chest_depth=0.46, belly_depth=0.45, hip_depth=0.45, width=0.76, haunch=0.17,
        shank=0.075, cannon=0.038, foot=0.052, foot_length=0.09, hock_height=0.34, wrist_height=0.3,
        knee_forward=0.1, hock_back=0.09, stance=0.12, feet="hoof", neck_length=0.46, neck_angle=42, neck_curl=10,
        neck_base=0.18, neck_top=0.11, neck_bones=3, tail_length=0.55, tail_angle=-60, tail_curl=-20,
        tail_base=0.03, tail_tip=0.02, tail_tuft=0.04, mane="crest",
        head=Head(
            skull=0.115, width=0.78, length=0.42, pitch=-36, snout=0.055, snout_base=0.092, snout_width=0.95,
            cheek=0.07, nose=0.0, ears="leaf", ear_length=0.13, ear_width=0.075, ear_tilt=14, eye=0.024,
            eye_azimuth=62, eye_height=22,
        ),
        coat=Coat(
            "#f3f0e8", belly="#f3f0e8", muzzle="#2a2523", mane="#1d1a18", pattern="stripes", pattern_size=0.048,
            mark="#1d1a18",
        ),
    ),
    "donkey": Quadruped(
        height=1.1, length=0.78, chest_depth=0.46, belly_depth=0.46, hip_depth=0.44, width=0.76, haunch=0.15,
        shank=0.072, cannon=0.038, foot=0.05, foot_length=0.085, hock_height=0.34, wrist_height=0.3,
        knee_forward=0.09, hock_back=0.08, stance=0.12, feet="hoof", neck_length=0.42, neck_angle=36, neck_curl=8,
        neck_base=0.17, neck_top=0.11, neck_bones=3, tail_length=0.55, tail_angle=-65, tail_curl=-15,
        tail_base=0.028, tail_tip=0.018, tail_tuft=0.04, mane="crest",
        head=Head(
            skull=0.13, width=0.8, length=0.46, pitch=-34, snout=0.065, snout_base=0.1, cheek=0.075, nose=0.0,
            ears="leaf", ear_length=0.3, ear_width=0.09, ear_tilt=18, eye=0.026, eye_azimuth=60, eye_height=22,
        ),
        coat=Coat(
            "#837a72", belly="#d6cec2", muzzle="#e6dfd4", mane="#38322e", ears="#5a514a", feet="#766d65",
        ),
    ),
    "cow": Quadruped(
        height=1.45, length=0.9, chest_depth=0.5, belly_depth=0.54, hip_depth=0.48, width=0.82, haunch=0.17,
        shank=0.085, cannon=0.046, foot=0.058, foot_length=0.09, hock_height=0.32, wrist_height=0.27,
        knee_forward=0.09, hock_back=0.08, stance=0.14, feet="hoof", neck_length=0.3, neck_angle=20, neck_base=0.19,
        neck_top=0.13, tail_length=0.68, tail_angle=-75, tail_curl=-10, tail_base=0.03, tail_tip=0.018,
        tail_tuft=0.035, horns="cow", horn_size=0.17,
        head=Head(
            skull=0.13, width=0.95, length=0.42, pitch=-34, snout=0.082, snout_base=0.1, snout_width=1.1,
            snout_shape="square", nose=0.0, ears="leaf", ear_length=0.15, ear_width=0.085, ear_tilt=88, eye=0.026,
            eye_azimuth=58, eye_height=20,
        ),
        coat=Coat(
            "#f1ece2", muzzle="#d9a79a", ears="#d8a094", mane="#1d1917", mark="#1d1917", pattern="patches",
            pattern_size=0.13,
        ),
    ),
    "sheep": Quadruped(
        height=0.7, length=0.82, chest_depth=0.52, belly_depth=0.55, hip_depth=0.52, width=0.9, haunch=0.14,
        shank=0.07, cannon=0.042, foot=0.05, foot_length=0.08, hock_height=0.27, wrist_height=0.24, stance=0.14,
        feet="hoof", neck_length=0.26, neck_angle=42, neck_base=0.17, neck_top=0.14, tail_length=0.22,
        tail_angle=-60, tail_base=0.06, tail_tip=0.05, tail_bones=2, mane="wool",
        head=Head(
            skull=0.125, width=0.85, length=0.35, pitch=-32, snout=0.058, snout_base=0.085, nose=0.028, ears="leaf",
            ear_length=0.16, ear_width=0.08, ear_tilt=95, eye=0.027, eye_azimuth=58, eye_height=20,
        ),
        coat=Coat(
            "#ece5d6", belly="#f3eee2", feet="#2c2724", face="#2c2724", muzzle="#2c2724", ears="#2c2724",
            tail_tip="#f3eee2",
        ),
    ),
    "goat": Quadruped(
        height=0.7, length=0.78, chest_depth=0.46, belly_depth=0.46, hip_depth=0.42, width=0.75, haunch=0.14,
        shank=0.068, cannon=0.04, foot=0.05, foot_length=0.08, hock_height=0.3, wrist_height=0.25, stance=0.12,
        feet="hoof", neck_length=0.34, neck_angle=52, neck_base=0.14, neck_top=0.1, tail_length=0.16, tail_angle=30,
        tail_base=0.045, tail_tip=0.03, tail_bones=2, horns="goat", horn_size=0.3,
        head=Head(
            skull=0.12, width=0.82, length=0.36, pitch=-30, snout=0.052, snout_base=0.08, nose=0.024, ears="leaf",
            ear_length=0.19, ear_width=0.08, ear_tilt=100, eye=0.027, eye_azimuth=58, eye_height=20,
        ),
        coat=Coat(
            "#cdb89a", belly="#efe6d6", feet="#4a3a2c", muzzle="#efe6d6", horn="#6d6155", ears="#b79a78",
        ),
    ),
    "pig": Quadruped(
        height=0.75, length=1.0, chest_depth=0.58, belly_depth=0.64, hip_depth=0.6, width=0.82, haunch=0.19,
        shank=0.095, cannon=0.058, foot=0.062, foot_length=0.08, hock_height=0.22, wrist_height=0.18,
        knee_forward=0.08, hock_back=0.06, stance=0.16, feet="hoof", neck_length=0.16, neck_angle=8, neck_base=0.26,
        neck_top=0.22, tail_length=0.3, tail_angle=20, tail_curl=200, tail_base=0.03, tail_tip=0.022, tail_bones=4,
        head=Head(
            skull=0.22, width=0.9, length=0.48, pitch=-18, snout=0.085, snout_base=0.15, snout_shape="disc",
            cheek=0.13, nose=0.0, ears="pointed", ear_length=0.2, ear_width=0.2, ear_tilt=38, eye=0.026,
            eye_azimuth=48, eye_height=20,
        ),
        coat=Coat(
            "#eba7a0", belly="#f3bdb6", muzzle="#e5938d", nose="#d9827d", ears="#e08d87",
        ),
    ),
    "deer": Quadruped(
        height=1.0, length=0.75, chest_depth=0.4, belly_depth=0.36, hip_depth=0.38, width=0.72, haunch=0.145,
        shank=0.06, cannon=0.028, foot=0.038, foot_length=0.07, hock_height=0.36, wrist_height=0.31,
        knee_forward=0.09, hock_back=0.1, stance=0.1, feet="hoof", neck_length=0.46, neck_angle=58, neck_base=0.13,
        neck_top=0.085, neck_bones=3, tail_length=0.14, tail_angle=-20, tail_base=0.045, tail_tip=0.03,
        tail_bones=2, horns="antlers", horn_size=0.5,
        head=Head(
            skull=0.105, width=0.82, length=0.35, pitch=-22, snout=0.042, snout_base=0.072, nose=0.026, ears="leaf",
            ear_length=0.17, ear_width=0.085, ear_tilt=65, eye=0.028, eye_azimuth=58, eye_height=20,
        ),
        coat=Coat(
            "#a8683a", belly="#efe2cc", feet="#8a5732", muzzle="#e8d8c0", tail_tip="#fbf6ec", horn="#c9b08a",
            ears="#c99a78", pattern="dapples", pattern_size=0.035, mark="#efe2cc",
        ),
    ),
    "giraffe": Quadruped(
        height=3.0, length=0.5, hip_height=0.86, chest_depth=0.33, belly_depth=0.31, hip_depth=0.28, width=0.68,
        haunch=0.1, shank=0.052, cannon=0.028, foot=0.038, foot_length=0.05, hock_height=0.31, wrist_height=0.33,
        knee_forward=0.06, hock_back=0.06, stance=0.085, feet="hoof", neck_length=0.72, neck_angle=62,
        neck_base=0.12, neck_top=0.052, neck_bones=5, tail_length=0.36, tail_angle=-75, tail_curl=-10,
        tail_base=0.018, tail_tip=0.012, tail_tuft=0.03, horns="giraffe", horn_size=0.055, mane="crest",
        head=Head(
            skull=0.062, width=0.8, length=0.23, pitch=-24, snout=0.03, snout_base=0.045, nose=0.0, ears="leaf",
            ear_length=0.09, ear_width=0.042, ear_tilt=75, eye=0.015, eye_azimuth=60, eye_height=16,
        ),
        coat=Coat(
            "#ecd3a0", belly="#f2e4c4", muzzle="#cfae80", mane="#8a5528", pattern="net", pattern_size=0.055,
            mark="#a9652c", ears="#d8b98a",
        ),
    ),
    "camel": Quadruped(
        height=1.75, length=0.72, chest_depth=0.4, belly_depth=0.36, hip_depth=0.34, width=0.75, haunch=0.13,
        shank=0.066, cannon=0.038, foot=0.058, foot_length=0.09, hock_height=0.34, wrist_height=0.3,
        knee_forward=0.07, hock_back=0.08, stance=0.11, feet="paw", neck_length=0.62, neck_angle=4, neck_curl=60,
        neck_base=0.13, neck_top=0.075, neck_bones=4, tail_length=0.36, tail_angle=-70, tail_base=0.022,
        tail_tip=0.015, tail_tuft=0.03, humps=2, hump_size=0.2,
        head=Head(
            skull=0.095, width=0.85, length=0.32, pitch=-10, snout=0.052, snout_base=0.07, nose=0.0, ears="round",
            ear_length=0.065, ear_width=0.05, ear_tilt=20, eye=0.022, eye_azimuth=60, eye_height=22,
        ),
        coat=Coat(
            "#c39a63", belly="#b58a55", muzzle="#d8b988", mane="#7d5a34", ears="#a87f4e",
        ),
    ),
}

GIANTS: dict[str, Quadruped] = {
    "elephant": Quadruped(
        height=3.0, length=0.62, hip_height=0.94, chest_depth=0.56, belly_depth=0.6, hip_depth=0.54, width=0.8,
        back=0.02, haunch=0.17, shank=0.12, cannon=0.095, foot=0.105, foot_length=0.07, hock_height=0.2,
        wrist_height=0.22, knee_forward=0.05, hock_back=0.02, stance=0.15, feet="pad", neck_length=0.16,
        neck_angle=20, neck_base=0.22, neck_top=0.19, neck_bones=1, tail_length=0.42, tail_angle=-75, tail_curl=-8,
        tail_base=0.03, tail_tip=0.015, tail_tuft=0.025, trunk_length=0.78, tusks=0.3,
        head=Head(
            skull=0.2, width=0.92, length=0.32, pitch=-50, snout=0.08, snout_base=0.12, nose=0.0, ears="fan",
            ear_length=0.4, ear_width=0.46, ear_tilt=100, eye=0.018, eye_azimuth=62, eye_height=12,
        ),
        coat=Coat(
            "#8b8683", belly="#7f7a77", horn="#efe6d2", ears="#9a8f8b",
        ),
    ),
    "rhino": Quadruped(
        height=1.7, length=0.95, chest_depth=0.58, belly_depth=0.62, hip_depth=0.56, width=0.82, haunch=0.19,
        shank=0.12, cannon=0.088, foot=0.095, foot_length=0.08, hock_height=0.2, wrist_height=0.18,
        knee_forward=0.07, hock_back=0.04, stance=0.17, feet="pad", neck_length=0.24, neck_angle=2, neck_base=0.24,
        neck_top=0.18, tail_length=0.38, tail_angle=-75, tail_base=0.035, tail_tip=0.02, horns="rhino",
        horn_size=0.32,
        head=Head(
            skull=0.16, width=0.85, length=0.5, pitch=-28, snout=0.09, snout_base=0.13, snout_shape="square",
            nose=0.0, ears="leaf", ear_length=0.14, ear_width=0.09, ear_tilt=18, eye=0.02, eye_azimuth=62,
            eye_height=12,
        ),
        coat=Coat(
            "#8a8580", belly="#7d7873", horn="#6e675c", ears="#7a746e",
        ),
    ),
    "hippo": Quadruped(
        height=1.45, length=1.15, chest_depth=0.7, belly_depth=0.78, hip_depth=0.72, width=0.92, haunch=0.2,
        shank=0.13, cannon=0.1, foot=0.11, foot_length=0.08, hock_height=0.17, wrist_height=0.15, knee_forward=0.07,
        hock_back=0.04, stance=0.23, feet="pad", neck_length=0.2, neck_angle=5, neck_base=0.32, neck_top=0.26,
        neck_bones=1, tail_length=0.25, tail_angle=-65, tail_base=0.045, tail_tip=0.025, tail_bones=3,
        head=Head(
            skull=0.22, width=0.95, length=0.68, pitch=-16, snout=0.17, snout_base=0.17, snout_width=1.2,
            snout_shape="square", nose=0.0, ears="round", ear_length=0.1, ear_width=0.1, ear_tilt=30, eye=0.035,
            eye_azimuth=48, eye_height=48,
        ),
        coat=Coat(
            "#7d6a70", belly="#b58f8c", muzzle="#9a7f80", ears="#b58f8c",
        ),
    ),
}
