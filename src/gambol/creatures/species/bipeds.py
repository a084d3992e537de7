"""Two legs: people, dinosaurs and kangaroos, birds."""

from gambol.creatures.bird import Bird
from gambol.creatures.colors import Coat
from gambol.creatures.heads import Head
from gambol.creatures.humanoid import Humanoid
from gambol.creatures.theropod import Theropod

# Tables read better with several numbers a line.
# fmt: off
HUMANOIDS: dict[str, Humanoid] = {
    "human": Humanoid(
        coat=Coat(
            "#3f74b5", feet="#2b211c", face="#d9a27e", muzzle="#b8655a", mane="#3a2416", mark="#3a3f4c",
            kept=("face", "feet", "muzzle", "mane"),
        ),
    ),
    "woman": Humanoid(
        height=1.66, shoulders=0.098, chest=0.078, waist=0.06, hips=0.058, arm_radius=0.023, leg_radius=0.052,
        shin=0.027, hair="long", foot_length=0.13,
        coat=Coat(
            "#b5423f", feet="#2b211c", face="#c98d66", muzzle="#b04a48", mane="#1f1512", mark="#27344f",
            kept=("face", "feet", "muzzle", "mane"),
        ),
    ),
    "child": Humanoid(
        height=1.1, head=0.1, neck=0.03, leg_length=0.43, shoulders=0.105, hips=0.055, chest=0.088, waist=0.08,
        arm_length=0.3, arm_radius=0.03, leg_radius=0.054, shin=0.036, foot_length=0.14, stance=0.062, eye=0.017,
        coat=Coat(
            "#e2b53a", feet="#c23f3a", face="#e3b18e", muzzle="#c9726a", mane="#7a4a22", mark="#3d6fa8",
            kept=("face", "feet", "muzzle", "mane"),
        ),
    ),
    "robot": Humanoid(
        height=1.8, head=0.085, neck=0.03, leg_length=0.47, shoulders=0.145, hips=0.065, chest=0.125, waist=0.085,
        arm_length=0.33, arm_radius=0.036, leg_radius=0.05, shin=0.042, foot_length=0.15, stance=0.08,
        style="robot", hair="none", eye=0.016,
        coat=Coat(
            "#a9b4bd", muzzle="#e0662a", feet="#525c66", face="#6a7580", mark="#7d8993", nose="#14181c",
            horn="#525c66", eye="#5fe3ff", iris="#c8f6ff", pupil="#ffffff", kept=("feet", "face", "muzzle"),
        ),
    ),
    "astronaut": Humanoid(
        height=1.85, head=0.085, neck=0.02, leg_length=0.45, shoulders=0.135, hips=0.066, chest=0.13, waist=0.115,
        arm_length=0.32, arm_radius=0.05, leg_radius=0.078, shin=0.06, foot_length=0.16, stance=0.085,
        style="astronaut", hair="none",
        coat=Coat(
            "#eceae6", muzzle="#b9bcc0", feet="#8f9499", face="#d8d6d2", mark="#e4e2de", nose="#c98a1c",
            kept=("feet", "face", "muzzle"),
        ),
    ),
}

THEROPODS: dict[str, Theropod] = {
    "trex": Theropod(
        height=2.6, trunk_length=0.72, trunk_angle=10, hip_radius=0.27, belly_radius=0.29, chest_radius=0.25,
        thigh=0.2, shank=0.095, ankle=0.062, stance=0.19, arm_length=0.24, arm_radius=0.032, neck_length=0.34,
        neck_angle=50, neck_curl=-25, neck_base=0.2, neck_top=0.15, teeth=7, tail_length=1.65, tail_angle=2,
        tail_curl=8, tail_base=0.2, tail_tip=0.03, tail_bones=7,
        head=Head(
            skull=0.17, width=0.9, length=0.6, pitch=-8, snout=0.1, snout_base=0.16, snout_width=0.85, nose=0.0,
            cheek=0.1, ears="none", eye=0.034, eye_azimuth=55, eye_height=34,
        ),
        coat=Coat(
            "#6c7043", belly="#c9b98a", mark="#41452a", pattern="stripes", pattern_size=0.05, horn="#efe8d6",
            iris="#d98a1a", eye="#e8c860",
        ),
    ),
    "velociraptor": Theropod(
        height=0.5, trunk_length=0.72, trunk_angle=18, hip_radius=0.19, belly_radius=0.19, chest_radius=0.17,
        thigh=0.15, shank=0.065, ankle=0.042, stance=0.13, knee_forward=0.2, ankle_height=0.34, ankle_back=0.14,
        arm_length=0.6, arm_radius=0.036, neck_length=0.5, neck_angle=65, neck_curl=-35, neck_base=0.11,
        neck_top=0.08, neck_bones=4, teeth=5, toe_radius=0.035, tail_length=1.7, tail_angle=6, tail_curl=8,
        tail_base=0.12, tail_tip=0.02, tail_bones=8,
        head=Head(
            skull=0.11, width=0.85, length=0.42, pitch=-10, snout=0.042, snout_base=0.08, snout_width=0.9, nose=0.0,
            ears="none", eye=0.03, eye_azimuth=50, eye_height=24,
        ),
        coat=Coat(
            "#a9743c", belly="#e9d6ac", mark="#4f321a", pattern="stripes", pattern_size=0.055, horn="#3a3028",
            iris="#d9b01a", eye="#e8d060",
        ),
    ),
    "kangaroo": Theropod(
        height=0.75, trunk_length=0.78, trunk_angle=58, hip_radius=0.25, belly_radius=0.22, chest_radius=0.15,
        width=0.85, thigh=0.2, shank=0.085, ankle=0.05, stance=0.16, knee_height=0.56, knee_forward=0.3,
        ankle_height=0.12, ankle_back=0.16, ball_forward=0.24, toe_length=0.22, toe_radius=0.055, toes=1,
        arm_length=0.5, arm_radius=0.045, neck_length=0.22, neck_angle=75, neck_curl=-10, neck_base=0.12,
        neck_top=0.09, neck_bones=2, tail_length=1.5, tail_angle=-48, tail_curl=48, tail_base=0.15, tail_tip=0.04,
        tail_bones=7,
        head=Head(
            skull=0.12, width=0.85, length=0.32, pitch=-14, snout=0.048, snout_base=0.075, nose=0.028, ears="leaf",
            ear_length=0.26, ear_width=0.1, ear_tilt=20, eye=0.028, eye_azimuth=56, eye_height=20,
        ),
        coat=Coat(
            "#a9774c", belly="#e6d2b4", feet="#7d5636", muzzle="#d9bd98", ears="#d9a890", tail_tip="#6b4a30",
        ),
    ),
}

BIRDS: dict[str, Bird] = {
    "ostrich": Bird(
        height=1.4, body_length=0.78, body_depth=0.44, body_width=0.92, body_angle=6, knee_forward=0.12,
        ankle_height=0.36, ankle_back=0.07, thigh=0.13, leg_radius=0.028, stance=0.09, toe_length=0.15, toes="two",
        wing_length=0.55, wing_width=0.3, neck_length=0.78, neck_angle=60, neck_curl=32, neck_base=0.055,
        neck_top=0.038, neck_bones=6, skull=0.06, beak_length=0.09, beak_radius=0.03, beak="flat", eye=0.02,
        tail_length=0.2, tail_angle=10, tail_width=0.13,
        coat=Coat(
            "#211c1a", belly="#2b2523", feet="#c9a48c", face="#d0a890", mane="#2c2624", tail_tip="#f0ebe0",
            horn="#c9a070",
        ),
    ),
    "duck": Bird(
        height=0.26, body_length=1.3, body_depth=0.72, body_width=0.92, body_angle=8, knee_forward=0.1,
        ankle_height=0.15, ankle_back=0.06, thigh=0.12, leg_radius=0.035, stance=0.17, toe_length=0.24,
        toes="webbed", wing_length=0.85, wing_width=0.4, neck_length=0.42, neck_angle=65, neck_curl=25,
        neck_base=0.16, neck_top=0.12, neck_bones=3, skull=0.17, beak_length=0.24, beak_radius=0.075, beak="flat",
        eye=0.038, tail_length=0.25, tail_angle=28, tail_width=0.14,
        coat=Coat(
            "#8d7f72", belly="#cfc5b6", feet="#e08a2a", face="#1f6b3f", mane="#75685c", tail_tip="#f1ede6",
            horn="#e2b53a",
        ),
    ),
    "chicken": Bird(
        height=0.32, body_length=0.95, body_depth=0.62, body_width=0.85, body_angle=16, knee_forward=0.12,
        ankle_height=0.24, ankle_back=0.07, thigh=0.14, leg_radius=0.026, stance=0.12, toe_length=0.17,
        wing_length=0.62, wing_width=0.36, neck_length=0.36, neck_angle=70, neck_curl=15, neck_base=0.17,
        neck_top=0.1, neck_bones=3, skull=0.115, beak_length=0.1, beak_radius=0.036, comb=0.085, eye=0.028,
        tail_length=0.42, tail_angle=52, tail_width=0.16,
        coat=Coat(
            "#f2ece0", feet="#e0a83a", mane="#e3d9c6", mark="#cf2f2a", horn="#e2ab3a", tail_tip="#f7f3ea",
        ),
    ),
    "flamingo": Bird(
        height=0.95, body_length=0.5, body_depth=0.27, body_width=0.85, body_angle=14, knee_forward=0.07,
        ankle_height=0.42, ankle_back=0.04, thigh=0.055, leg_radius=0.015, stance=0.055, toe_length=0.1,
        toes="webbed", wing_length=0.42, wing_width=0.2, neck_length=0.72, neck_angle=35, neck_curl=80,
        neck_base=0.036, neck_top=0.024, neck_bones=6, skull=0.05, beak_length=0.1, beak_radius=0.03, beak="hooked",
        eye=0.0135, tail_length=0.13, tail_angle=-15, tail_width=0.05,
        coat=Coat(
            "#f08d94", belly="#f6b3b4", feet="#e07f8a", mane="#ea6f7c", tail_tip="#e0606e", horn="#f3d3cd",
            face="#f29ba0",
        ),
    ),
    "penguin": Bird(
        height=0.8, body_length=0.92, body_depth=0.42, body_width=1.0, body_angle=80, knee_forward=0.05,
        ankle_height=0.08, ankle_back=0.02, thigh=0.085, leg_radius=0.04, stance=0.1, toe_length=0.16,
        toes="webbed", wing_length=0.5, wing_width=0.16, wings="flippers", neck_length=0.08, neck_angle=85,
        neck_curl=0, neck_base=0.15, neck_top=0.13, neck_bones=1, skull=0.13, beak_length=0.13, beak_radius=0.03,
        eye=0.024, tail_length=0.14, tail_angle=-50, tail_width=0.06,
        coat=Coat(
            "#1d2127", belly="#f6f3ec", feet="#e0912a", mane="#1d2127", face="#1d2127", horn="#e0912a",
        ),
    ),
}
