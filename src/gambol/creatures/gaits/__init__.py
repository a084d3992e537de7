"""Analytic motions of legged characters: footfalls, a plan fitted to the body and its skin, a clip."""

from gambol.creatures.gaits.gait import actions_for, gait, plan_gait

__all__ = ["actions_for", "gait", "plan_gait"]
