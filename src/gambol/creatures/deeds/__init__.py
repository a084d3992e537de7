"""Deeds of animals and people from goals for their parts: key poses in tables, inverse kinematics, random style."""

from gambol.creatures.deeds.keys import BUILDS, Deed, build_of, deeds_of
from gambol.creatures.deeds.posing import STYLE, DeedMotion, perform, usual_seconds

__all__ = ["BUILDS", "STYLE", "Deed", "DeedMotion", "build_of", "deeds_of", "perform", "usual_seconds"]
