"""`python -m scarce`: the command line."""

from scarce.cli.main import main

if __name__ == "__main__":
    main()
