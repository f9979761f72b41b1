"""The recorded output of NVIDIA's compiler is its output, and a record of another program or release is refused."""

import gzip

import pytest

from tests import recorded


@pytest.mark.slow
@pytest.mark.parametrize("name", recorded.PROGRAMS)
def test_it_prints_that_today(name):
    program = recorded.HERE / name
    assert recorded.output(program) == recorded.recorded(program)


def test_every_record_is_of_a_program_that_is_asked_again():
    files = {path.relative_to(recorded.HERE).as_posix() for path in recorded.HERE.rglob("*.upstream.gz")}
    assert files == {name.replace(".py", ".upstream.gz") for name in recorded.PROGRAMS}


def test_a_record_of_another_program_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "HERE", tmp_path)
    program = tmp_path / "program.py"
    program.write_text("print(1)")
    program.with_suffix(".upstream.gz").write_bytes(gzip.compress(f"{recorded._head(program)}\n1\n".encode()))
    assert recorded.recorded(program) == "1\n"
    program.write_text("print(2)")
    with pytest.raises(AssertionError, match=r"record.* uv run python -m tests.recorded program.py"):
        recorded.recorded(program)
