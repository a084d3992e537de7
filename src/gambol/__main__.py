"""`python -m gambol` is the command line, for those whose scripts are not on the path."""

from gambol.cli import main

main()
