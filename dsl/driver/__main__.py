"""python -m dsl.driver: print the folder of libcuda.so.1. python -m dsl.driver CMD ARGS: run a program on it.

Raises nothing: status 3 if the library cannot be built, 127 and 126 as `env` if the program cannot be started.
"""

from __future__ import annotations

import os
import sys

from dsl import native_library
from dsl.driver import library_folder
from dsl.driver.clients import environment

NOT_BUILT, NO_PROGRAM, NOT_STARTED = 3, 127, 126


def main(command: list[str]) -> int:
    """Become the program; the status if that is not possible."""
    try:
        folder = library_folder()
    except native_library.BuildError as error:
        print(error, file=sys.stderr)
        return NOT_BUILT
    if not command:
        print(folder)
        return 0
    try:
        os.execvpe(command[0], command, environment(os.environ, folder))
    except FileNotFoundError:
        print(f"there is no program `{command[0]}`", file=sys.stderr)
        return NO_PROGRAM
    except OSError as error:
        print(f"`{command[0]}` cannot be run: {error.strerror}", file=sys.stderr)
        return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
