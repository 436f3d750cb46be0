"""`python -m citewell` is the command line."""

from citewell.cli import main

main()
