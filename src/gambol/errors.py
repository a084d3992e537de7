"""The errors a user can cause and can fix; the command line prints them as one line."""


class GambolError(Exception):
    """Something about the input is wrong: the message names the thing, the rule and the way out."""


class AssetError(GambolError):
    """A character file that cannot be read or trusted."""
