"""The commands, a file each. Thin: they read files, call one function and say what it did.

Nothing heavy is imported before a command runs, so that --help answers at once.
"""
