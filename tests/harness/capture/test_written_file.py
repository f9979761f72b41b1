"""The text of a captured file: it runs alone and gives what the call gave."""

import sys

import numpy as np
import pytest

from harness.capture import written_file
from harness.capture.arguments.memory import Memory
from harness.capture.recorder import Call, Recorder, Wanted

PROGRAM = '''
# Copyright somebody, under a license
OFFSET = 3

class Options:
    def __init__(self, factor):
        self.factor = factor

def scaled(x, out, options):
    """Why."""
    out += x * options.factor + OFFSET
    return 2.5
'''


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "scaling_program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "scaling_program", raising=False)
    import scaling_program

    return scaling_program


def taken(program, x, out, outcome=None):
    """A captured call of the program's function."""
    kept = []
    options = program.Options(2)

    def text(speller):
        words = ", ".join([speller.of(x, "x"), speller.of(out, "out"), speller.of(options, "options")])
        return f"{speller.root(program.scaled)}({words})"

    call = Call("scaled", lambda: {"scaled"}, text, (x, out, options))
    recorder = Recorder(Wanted(), kept.append)
    recorder.around(lambda: call, set, lambda: program.scaled(x, out, options))
    return kept[0]


def run(written, folder):
    (folder / "data").mkdir()
    for name, data in written.data.items():
        np.savez_compressed(folder / "data" / f"{name}.npz", bytes=data)
    names = {"__name__": "captured", "__file__": str(folder / "captured.py")}
    exec(compile(written.text, "captured.py", "exec"), names)
    return names["run"]()


def test_the_file_gives_what_the_call_gave(program, tmp_path):
    whole = np.arange(12, dtype=np.float32)
    out = np.full((2, 3), 1.5, np.float32)
    call = taken(program, whole[1:7].reshape(2, 3), out)
    written = written_file.write(call, "train.py", {})
    given = run(written, tmp_path)
    assert np.array_equal(given["out"], out) and given["returned"] == 2.5
    assert written.missing == [] and written.data == {}
    lines = written.text.splitlines()
    assert lines[0] == "# /// script" and lines[1] == '# dependencies = ["numpy"]'.replace(
        "numpy", f"numpy=={np.__version__}"
    )
    assert '"""Call 1 of scaled in train.py gives what it gave there."""' in lines
    assert "# Copyright somebody, under a license" in lines and '    """Why."""' in lines


def test_two_views_of_one_memory_stay_so(program, tmp_path):
    whole = np.linspace(0, 1, 9, dtype=np.float32)
    x, out = whole[:4], whole[2:6]
    call = taken(program, x, out)
    written = written_file.write(call, "train.py", {})
    assert len(written.data) == 1
    assert np.array_equal(run(written, tmp_path)["out"], out)


def test_a_variable_does_not_hide_what_the_program_defines(program, tmp_path):
    program.scaled.__globals__["x"] = None
    call = taken(program, np.ones(3, np.float32), np.zeros(3, np.float32))
    call.spelling.name("Options")
    written = written_file.write(call, "train.py", {})
    assert run(written, tmp_path)["out"].tolist() == [5.0] * 3


def test_an_outcome_is_claimed(program):
    call = taken(program, np.ones(3, np.float32), np.zeros(3, np.float32))
    call.outcome, call.changed, call.returned, call.seconds = {"outcome": "fault", "kind": "race"}, [], [], 20.0
    text = written_file.write(call, "train.py", {"nvidia-cutlass-dsl": "4.8.1"}).text
    assert '# outcome = "race"' in text and "# timeout = 110" in text and "nvidia-cutlass-dsl==4.8.1" in text
    assert '"""Call 1 of scaled in train.py ends there in: race."""' in text


def test_missing_values_are_listed_at_the_top(program):
    call = taken(program, np.ones(3, np.float32), np.zeros(3, np.float32))
    call.spelling.lacks("rows is an iterator")
    written = written_file.write(call, "train.py", {})
    assert written.text.splitlines()[0] == "# missing: rows is an iterator"


def test_a_reference_becomes_what_is_expected(program, tmp_path):
    call = taken(program, np.ones(3, np.float32), np.zeros(3, np.float32))
    call.expected = {"out": np.array([1, 2, 4], np.float32)}
    written = written_file.write(call, "train.py", {})
    run(written, tmp_path)
    names = {"__name__": "captured", "__file__": str(tmp_path / "captured.py")}
    exec(written.text, names)
    assert names["expected"]()["out"].tolist() == [1, 2, 4]


@pytest.mark.parametrize("gives", ["{'out': %s}", "[%s]", "%s"])
def test_a_reference_with_source_is_asked_again(program, tmp_path, gives):
    """expected() computes: it follows a change of the arguments."""
    x, out, kept = np.ones(3, np.float32), np.zeros(3, np.float32), []
    source = f"def reference(x, out):\n    return {gives % '2 * x + OFFSET'}\n"
    (tmp_path / "scaling_program.py").write_text(PROGRAM + source)
    exec(compile(source, program.__file__, "exec"), program.__dict__)
    call = Call("f", set, lambda speller: f"{speller.of(out, 'out')}.fill({speller.of(x, 'x')}[0])", (x, out))
    wanted = Wanted(property="differs", reference=program.reference)
    Recorder(wanted, kept.append).around(lambda: call, set, lambda: out.fill(1))
    written = written_file.write(kept[0], "train.py", {})
    assert run(written, tmp_path)["out"].tolist() == [1.0] * 3
    assert '# compare = { out = "close:1.3e-6,1e-5" }' in written.text and "def arguments():" in written.text
    names = {"__name__": "captured", "__file__": str(tmp_path / "captured.py")}
    exec(written.text.replace("x = np.ones((3,)", "x = np.zeros((3,)"), names)
    assert names["expected"]()["out"].tolist() == [3.0] * 3


def test_module_variables_that_need_the_program_or_memory_are_made_in_run(program, tmp_path):
    def make(options, table):
        def shifted(out):
            out += table * options.factor

        return shifted

    table = np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::2]
    function = make(program.Options(3), table)
    out = np.ones((2, 2), np.float32)
    found: list = []

    def text(spelling):
        return f"{spelling.root(function)}({spelling.of(out, 'out')})"

    recorder = Recorder(Wanted(), found.append, written_file.prepare)
    call = Call("shifted", set, text, (out,))
    recorder.around(lambda: call, set, lambda: function(out))
    written = written_file.write(found[0], "train.py", {})
    assert np.array_equal(run(written, tmp_path)["out"], out) and written.missing == []
    assert "    global table\n" in written.text and "    global options\n" in written.text


def test_the_architecture_that_the_environment_names(program, monkeypatch, tmp_path):
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_80")
    call = taken(program, np.ones(3, np.float32), np.zeros(3, np.float32))
    text = written_file.write(call, "train.py", {"nvidia-cutlass-dsl": ""}).text
    assert text.index('os.environ["CUTE_DSL_ARCH"] = "sm_80"') < text.index("import numpy")
    assert "os.environ" not in written_file.write(call, "train.py", {}).text
    later = "from __future__ import annotations\nimport cutlass\n"
    assert written_file._for_target(later, "sm_90a").startswith("from __future__ import annotations\nimport os\n")


def test_memory_of_packed_numbers_is_made_of_bytes():
    torch = pytest.importorskip("torch")
    memory = Memory()
    memory.view(torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2), "a")
    assert written_file._element_type(memory.storages[0]) == "torch.uint8"
