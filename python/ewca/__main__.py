"""The ``ewca`` command, also as ``python -m ewca``: the program, which is in the extension module."""

import sys

from ._ewca import run_program


def main() -> int:
    return run_program(["ewca", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
