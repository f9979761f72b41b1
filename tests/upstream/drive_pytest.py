"""Run a pytest file alone, without conftest files and plugins, its own or ours.

python -m dsl drive_pytest.py FILE
"""

import os
import sys

import pytest

if __name__ == "__main__":
    file = os.path.abspath(sys.argv[1])
    sys.exit(
        pytest.main(
            [
                file,
                "-q",
                "--noconftest",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:gpu-repro",
                "-p",
                "no:xdist",
                "--rootdir",
                os.path.dirname(file),
                "-c",
                os.devnull,
                "--tb=short",
                "--color=no",
            ]
        )
    )
