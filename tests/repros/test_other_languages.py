"""Repros in languages that bring their own compiler: each gives its golden, in an environment that uv makes if need be.

Triton and Gluon, CUDA C++, PTX, Numba and TileLang. CuTe DSL, Quadrants and TIRx are compiled here.
"""

import shutil

import pytest

from harness import judge
from harness.claim import languages, repro_file
from harness.host.environment import peers
from harness.session import Session
from tests.repros.every_repro import REPROS, ROOT

COMPILED_HERE = {"cutlass", "quadrants", "tvm"}
FILES = [path for path in languages.files_below(ROOT / "repros") if path.suffix != ".py"]
OTHERS = [repro_file.read(path) for path in FILES if repro_file.is_repro(path.read_bytes())]
CASES = [case for each in [*REPROS, *OTHERS] if not each.imports & COMPILED_HERE for case in each.cases()]


@pytest.fixture(scope="module")
def session():
    run = Session(ROOT, ["embedded"])
    yield run
    run.close()


def test_there_are_enough_of_each():
    words = [each.repro.path.parent.name for each in CASES]
    assert all(words.count(name) >= 6 for name in ("triton", "gluon", "numba", "tilelang", "cuda", "ptx"))
    assert sum(each.path.suffix == ".cu" for each in OTHERS) >= 16 and words.count("triton") >= 16


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: ",".join(filter(None, (case.repro.path.stem, case.name))))
def test_gives_what_the_repro_claims(case, session):
    if peers.missing(case.repro.needs) and shutil.which("uv") is None:
        pytest.skip("needs uv")
    host, outcome = session.run(case, session.hosts()[0], None, False)
    verdict = judge.judge(case, host, outcome, ROOT, strict=True)
    if verdict.reason == "no compiler" or (outcome.kind == "infra" and "nvcc is not on this machine" in outcome.text):
        pytest.skip(outcome.text)
    assert verdict.status == "pass", f"{verdict.reason}\n{verdict.text}"
