"""`python -m legation`."""

from legation.cli.main import main

main()
