"""Artists' clips cut into cycles that begin where ours do: `clips.gather`."""
