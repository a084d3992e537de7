"""A skeleton for a mesh that has none: `gambol.rig`."""
