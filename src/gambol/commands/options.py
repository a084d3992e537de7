"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import tyro

File = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
