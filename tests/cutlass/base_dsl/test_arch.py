"""cutlass.base_dsl.arch: every relation of every two architectures is the same as upstream."""

import pytest

PROGRAM = """
from cutlass.base_dsl.arch import Arch

for a in Arch:
    print(a, repr(a), a.name, a.value, a.major, a.minor, a.suffix, a.to_string(), Arch.from_string(a.name) is a)
    for b in Arch:
        print(b, a < b, a <= b, a > b, a >= b, a == b, a.is_family_of(b), a.can_run_binary_built_for(b))
print(Arch.AmpereArchs(), Arch.AdaArchs(), Arch.HopperArchs(), Arch.BlackwellArchs(), Arch.RubinArchs())
print(sorted(Arch), Arch.filter(lambda arch: arch.is_family_of(Arch.sm_90a)))
for attempt in (lambda: Arch.from_string("sm_75"), lambda: Arch.sm_90 < 3):
    try:
        attempt()
    except Exception as error:
        print(type(error), error)
"""


@pytest.mark.slow
def test_architectures_are_upstreams(tmp_path, both):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    ours, theirs = both(path)
    assert ours.errors == "" and len(ours.output.splitlines()) == 24 * 25 + 4
    assert ours.output == theirs.output
