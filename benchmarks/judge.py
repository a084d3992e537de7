"""Checks of the judge on artists' clips of families that it was not trained on, and on corrupted copies of them.

    python benchmarks/judge.py FOLDER [FOLDER ...] [--weights judge.safetensors] [--exclude FAMILY ...]

The folders hold clips and motion capture, as for `gambol train-judge`. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gambol.bench.judge.checks import check_judge
from gambol.bench.judge.model import Judge
from gambol.progress import progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--weights", type=Path, help="by default those that come with gambol")
    parser.add_argument("--exclude", nargs="*", default=(), help="families, by default those that the weights name")
    options = parser.parse_args()
    with progress("reading clips") as advance:
        tables = check_judge(options.folders, options.exclude, Judge.load(options.weights), advance)
    print("\n\n".join(table.markdown() for table in tables))


if __name__ == "__main__":
    main()
