"""Every repro under nvidia-cutlass-dsl: it ends as it claims, its PTX has what the CHECK-PTX lines require, and its
outputs are expected() and the golden, which our compiler gave: `pytest --compiler nvidia repros`, a test a case.

No GPU takes part: NVIDIA's compiler makes the PTX, and the emulator executes it (dsl/launch/nvidia/hook.py).
"""

import pytest

from harness import judge
from harness.errors import UsageError
from harness.host.environment import releases
from harness.session import Session
from tests.repros.every_repro import REPROS, ROOT

TAKEN = [each for each in REPROS if not releases.untaken(each, "nvidia") and "cutlass" in each.imports]
CASES = [case for each in TAKEN for case in each.cases()]


@pytest.fixture(scope="module")
def session(needs):
    needs("cc", "gcc libc6-dev")
    try:
        run = Session(ROOT, ["embedded"], compiler="nvidia")
    except UsageError as error:
        (pytest.fail if judge.in_ci() else pytest.skip)(str(error))
    yield run
    run.close()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: ",".join(filter(None, (case.repro.path.stem, case.name))))
def test_gives_what_the_repro_claims(case, session):
    host, outcome = session.run(case, session.hosts()[0], None, False)
    verdict = judge.judge(case, host, outcome, ROOT)
    assert verdict.status == "pass", f"{verdict.reason}\n{verdict.text}"
    if outcome.kind == "outputs":
        assert any(kernel["launches"] for kernel in outcome.kernels), "nothing was launched"
        assert outcome.facts["compiler"]["name"] == "nvidia"
