"""`python -m conftr.cli` is the program `conftr`."""

from conftr.cli import main

main()
