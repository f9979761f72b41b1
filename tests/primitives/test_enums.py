"""The enumerations are the same as in NVIDIA's compiler: names, values and kinds."""

import enum
import json
import subprocess
import sys

import pytest

from dsl.primitives import enums


@pytest.mark.slow
def test_all_are_upstreams(installed):
    theirs = subprocess.run(
        [
            sys.executable,
            "-c",
            "import enum, json; from cutlass.experimental import primitives as p; print(json.dumps({n: [(m.name, m.value) "
            "for m in v] for n, v in vars(p).items() if isinstance(v, type) and issubclass(v, enum.Enum)}))",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    table = {name: [tuple(pair) for pair in pairs] for name, pairs in json.loads(theirs.splitlines()[-1]).items()}
    ours = {name: [(m.name, m.value) for m in v] for name, v in vars(enums).items() if isinstance(v, enum.EnumType)}
    assert ours == table
