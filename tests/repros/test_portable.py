"""What NVIDIA's compiler rejects of the repros, `--portable` refuses under the same id."""

import json
import re

import pytest

from tests import fork_server
from tests.repros.every_repro import REPROS, ROOT

REJECTED = [one for one in REPROS if (other := one.nvidia.of(None)) and other.rejected]
WITHOUT_ID = {"name 'x' is not defined": "SCOPE_UNBOUND_NAME"}
# NVIDIA's compiles their functions; what it refuses is what Python does around them.
IN_PYTHON = {"jit_function_returns_numbers_to_python"}

RUN = """
import json, runpy, sys, warnings
from dsl import alias
from dsl.core.errors import DSLUserCodeError, PortabilityWarning
alias.install("emulator")
for path, params in json.load(sys.stdin):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PortabilityWarning)
        try:
            runpy.run_path(path)["run"](**params)
            print("ran")
        except DSLUserCodeError as error:
            print(error.id)
"""


@pytest.fixture(scope="module")
def ids() -> dict[str, str]:
    """The end of each program, by its name."""
    programs = [(str(one.path), dict(next(one.cases()).params)) for one in REJECTED]
    done = fork_server.run(["-c", RUN], warm="dsl", input=json.dumps(programs), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return dict(zip((one.path.stem for one in REJECTED), done.stdout.split(), strict=True))


@pytest.mark.parametrize("one", REJECTED, ids=lambda one: one.path.stem)
def test_is_refused_under_its_id(one, ids):
    name = one.nvidia.of(None).rejected
    assert re.fullmatch(r"[A-Z][A-Z_]+", name) or name in WITHOUT_ID
    expected = "ran" if one.path.stem in IN_PYTHON else WITHOUT_ID.get(name, name)
    assert ids[one.path.stem] == expected
