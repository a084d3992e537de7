"""Legs that sprawl: reptiles, insects, spiders and their kin."""

from gambol.creatures.arthropod import Arthropod
from gambol.creatures.colors import Coat
from gambol.creatures.heads import Head
from gambol.creatures.reptile import Reptile

# Tables read better with several numbers a line.
# fmt: off
REPTILES: dict[str, Reptile] = {
    "crocodile": Reptile(
        trunk=1.1, clearance=0.09, depth=0.36, width=1.5, upper_leg=0.24, leg_radius=0.075, foot=0.17,
        neck_length=0.2, neck_angle=6, neck_radius=0.16, tail_length=1.7, tail_angle=-4, tail_curl=4,
        tail_base=0.17, tail_tip=0.03, tail_bones=7, armor="ridges",
        head=Head(
            skull=0.15, width=1.15, length=0.72, pitch=-3, snout=0.07, snout_base=0.12, snout_width=1.35, nose=0.03,
            ears="none", eye=0.035, eye_azimuth=52, eye_height=58,
        ),
        coat=Coat(
            "#58683c", belly="#c9c08e", mane="#3f4c2a", nose="#3a4526", eye="#d8c23a", iris="#b79a1a",
            feet="#4c5b33",
        ),
    ),
    "lizard": Reptile(
        trunk=0.1, clearance=0.12, depth=0.26, width=1.3, upper_leg=0.28, leg_radius=0.055, foot=0.2,
        neck_length=0.16, neck_angle=22, neck_radius=0.1, tail_length=2.2, tail_angle=-10, tail_curl=22,
        tail_base=0.1, tail_tip=0.02, tail_bones=8,
        head=Head(
            skull=0.14, width=1.0, length=0.36, pitch=-6, snout=0.055, snout_base=0.1, snout_width=1.2, nose=0.0,
            ears="none", eye=0.04, eye_azimuth=62, eye_height=26,
        ),
        coat=Coat(
            "#4f9a3a", belly="#d9dc8c", mark="#2c5e24", pattern="spots", pattern_size=0.14, eye="#e8c23a",
            iris="#c98a1a",
        ),
    ),
    "tortoise": Reptile(
        trunk=0.22, clearance=0.14, depth=0.5, width=1.6, upper_leg=0.26, leg_radius=0.11, foot=0.15, toes=0,
        neck_length=0.34, neck_angle=28, neck_radius=0.1, tail_length=0.3, tail_angle=-35, tail_curl=10,
        tail_base=0.06, tail_tip=0.025, tail_bones=2, armor="shell",
        head=Head(
            skull=0.14, width=0.9, length=0.26, pitch=-12, snout=0.07, snout_base=0.1, nose=0.0, ears="none",
            eye=0.03, eye_azimuth=52, eye_height=20,
        ),
        coat=Coat(
            "#7e8a4a", belly="#c9bd84", mark="#6b4a26", mane="#a3783c", feet="#6d7840",
        ),
    ),
}

INSECTS: dict[str, Arthropod] = {
    "ant": Arthropod(
        length=0.012, clearance=0.22, head=0.14, thorax=0.095, thorax_length=0.32, abdomen=0.17,
        abdomen_length=0.42, abdomen_rise=12, waist=0.045, leg_reach=0.5, knee_height=0.5, leg_radius=0.026,
        feelers=0.5, jaws=0.12, eye=0.036,
        coat=Coat(
            "#7a2e1c", feet="#5a2014", nose="#4a1a10", horn="#3a140c", iris="#0c0a0a", eye="#1a1210",
        ),
    ),
    "beetle": Arthropod(
        length=0.04, clearance=0.14, head=0.13, thorax=0.16, thorax_length=0.26, abdomen=0.23, abdomen_length=0.6,
        waist=0.16, width=1.25, leg_reach=0.36, knee_height=0.26, leg_radius=0.034, feelers=0.3, jaws=0.25,
        shell="wing cases", eye=0.04,
        coat=Coat(
            "#2f7d5c", belly="#16241f", feet="#14201c", nose="#14201c", horn="#14201c", face="#1b2f2a",
            kept=("belly", "feet", "face"),
        ),
    ),
    "ladybug": Arthropod(
        length=0.008, clearance=0.12, head=0.15, thorax=0.2, thorax_length=0.24, abdomen=0.33, abdomen_length=0.66,
        waist=0.2, width=1.2, leg_reach=0.34, knee_height=0.24, leg_radius=0.036, feelers=0.2, jaws=0.0,
        shell="wing cases", eye=0.05,
        coat=Coat(
            "#d3261c", belly="#141212", feet="#141212", nose="#141212", face="#141212", mark="#141212",
            pattern="spots", pattern_size=0.2, kept=("belly", "feet", "face"),
        ),
    ),
}

ARACHNIDS: dict[str, Arthropod] = {
    "spider": Arthropod(
        length=0.05, leg_pairs=4, clearance=0.2, head=0.12, thorax=0.15, thorax_length=0.36, abdomen=0.27,
        abdomen_length=0.58, abdomen_rise=14, waist=0.06, leg_reach=0.95, leg_spread=55, knee_height=0.62,
        leg_radius=0.034, feelers=0.0, jaws=0.14, eye=0.036, eyes=3,
        coat=Coat(
            "#3a2c24", belly="#57402f", feet="#231a15", horn="#17110d", eye="#0c0a0a", iris="#2a1a1a",
            mark="#b98a4a", pattern="stripes", pattern_size=0.12,
        ),
    ),
    "scorpion": Arthropod(
        length=0.07, leg_pairs=4, clearance=0.09, head=0.13, thorax=0.13, thorax_length=0.42, abdomen=0.14,
        abdomen_length=0.42, waist=0.12, width=1.3, leg_reach=0.55, knee_height=0.3, leg_radius=0.028, feelers=0.0,
        jaws=0.08, claws=0.72, sting=1.15, eye=0.022,
        coat=Coat(
            "#b5803a", belly="#c9984c", feet="#d9b06a", nose="#3a2414", horn="#6b4520",
        ),
    ),
    "crab": Arthropod(
        length=0.12, leg_pairs=4, clearance=0.2, head=0.14, thorax=0.24, thorax_length=0.5, abdomen=0.22,
        abdomen_length=0.3, waist=0.2, width=1.9, leg_reach=0.7, leg_spread=42, knee_height=0.52, leg_radius=0.046,
        feelers=0.0, jaws=0.0, claws=0.75, eye=0.06,
        coat=Coat(
            "#d2512c", belly="#eeb68a", feet="#e07a4a", horn="#f0c9a0",
        ),
    ),
}
