"""`repro outcomes` as a person types it.

Modules tested here: harness/cli/outcomes/outcome_text.py.
"""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main
from tests.harness.documents import result_of

PAGE = (Path(__file__).parents[4] / "docs/outcomes.md").read_text()
STORE_BUFFER = re.search(r"^```python\n# file: repros/store_buffer.py\n(.*?)^```$", PAGE, re.M | re.S)[1]
SHOWN = re.search(r"^```text\n\$ repro outcomes store_buffer\n(.*?)^```$", PAGE, re.M | re.S)[1]
BODY = """\
    mine, _, _ = cute.arch.block_idx()
    flags[mine] = 1
    r[mine] = flags[1 - mine]
"""
RELAXED = 'cutlass.Int32, sem="relaxed", scope="gpu"'
# Block 0 takes the lock and never gives it back, or block 1 finds it free.
WAITS = f"""\
    mine, _, _ = cute.arch.block_idx()
    lock = flags.iterator
    if mine == 0:
        cute.arch.atomic_cas(lock, cmp=0, val=1, sem="relaxed", scope="gpu")
    else:
        if cute.arch.atomic_cas(lock, cmp=0, val=2, sem="relaxed", scope="gpu") != 0:
            while cute.arch.load(lock + 1, {RELAXED}) == 0:
                pass
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros/store_buffer.py").write_text(STORE_BUFFER)
    return tmp_path


def with_body(body):
    return STORE_BUFFER.replace(BODY, body).replace("import cutlass.cute", "import cutlass\nimport cutlass.cute", 1)


def started(folder, *arguments):
    line = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())", "outcomes", *arguments]
    return subprocess.Popen(line, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def command(folder, *arguments):
    process = started(folder, *arguments)
    stdout, stderr = process.communicate()
    lines = [line for line in stderr.splitlines() if "looking for all outcomes (" not in line]
    return process.returncode, stdout, "\n".join(lines)


def test_the_example_of_the_page(project):
    assert command(project, "store_buffer") == (0, SHOWN, "")


def test_a_result_that_the_repro_does_not_allow(project):
    path = project / "repros/store_buffer.py"
    path.write_text(STORE_BUFFER.replace("allowed = { r = [[0, 0], ", "allowed = { r = [[2, 2], "))
    status, stdout, _ = command(project, "store_buffer")
    assert status == 1
    assert "\n4. r = [0, 0]   (no order of the accesses gives it, the repro does not allow it)\n" in stdout
    assert stdout.endswith("\nthe repro allows r = [2, 2], but no outcome has it\n")


def test_a_thread_that_waits_for_ever(project):
    (project / "repros/store_buffer.py").write_text(with_body(WAITS).replace("allowed = ", "# "))
    status, stdout, stderr = command(project, "store_buffer")
    assert (status, stderr) == (1, "")
    assert stdout == (
        "repros/store_buffer.py: the PTX memory model allows 2 outcomes (complete)\n"
        "\n"
        "1. r = [-1, -1]\n"
        "   block 0, thread 0                 block 1, thread 0\n"
        "                                     0: reads flags[0] = 0, line 24, from before the kernel\n"
        "                                     1: writes flags[0] = 2, line 24\n"
        "   2: reads flags[0] = 2, line 22, from step 1\n"
        "\n"
        "2. it never ends\n"
        "   block 0, thread 0                 block 1, thread 0\n"
        "   0: reads flags[0] = 0, line 22, from before the kernel\n"
        "   1: writes flags[0] = 1, line 22\n"
        "                                     2: reads flags[0] = 1, line 24, from step 1\n"
        '   block 1, thread 0 waits for ever at line 25: while cute.arch.load(lock + 1, cutlass.Int32, sem="relaxed", scope="gpu") == 0:\n'
    )


def test_a_script(project):
    script = "\n".join(line for line in STORE_BUFFER.splitlines() if not line.startswith("# "))
    (project / "script.py").write_text(script + "\n\nrun()\nrun()\n")
    status, stdout, stderr = command(project, "script.py")
    assert (status, stderr) == (0, "")
    heads = [line for line in stdout.splitlines() if line.startswith("script.py")]
    name = "`kernel_kernel_0`"
    assert heads == [
        f"script.py: the PTX memory model allows 4 outcomes of {name} (complete)",
        f"script.py: the PTX memory model allows 4 outcomes of {name}, after outcome 1 of each launch before it (complete)",
    ]
    last = "4. flags[0] = 1, flags[1] = 1, r[0] = 0, r[1] = 0   (no order of the accesses gives it)"
    assert stdout.count(last) == 2


def test_a_refused_instruction_is_named_at_its_line(project):
    body = BODY.replace("flags[mine] = 1", "flags[mine] = cute.arch.activemask()")
    (project / "repros/store_buffer.py").write_text(with_body(body))
    status, stdout, stderr = command(project, "store_buffer")
    assert (status, stdout) == (3, "")
    assert stderr.startswith("repros/store_buffer.py: the outcomes could not be found\n")
    assert (
        "repros/store_buffer.py:20:19: UNSUPPORTED_PTX `activemask.b32`: the memory model here has no such instruction\n"
        "    flags[mine] = cute.arch.activemask()\n"
        "                  ^\n"
    ) in stderr
    assert stderr.endswith("fix: `repro run FILE --seed N` runs the kernel in another order")


def test_an_answer_that_is_not_a_dict(project):
    (project / "repros/store_buffer.py").write_text(STORE_BUFFER.replace('return {"r": r}', "return [r]"))
    status, _, stderr = command(project, "store_buffer")
    assert status == 3 and "BAD_RETURN" in stderr and "returned a list" in stderr


def test_a_program_without_a_kernel(project):
    (project / "script.py").write_text("print(1)\n")
    status, stdout, stderr = command(project, "script.py")
    assert (status, stdout) == (3, "")
    assert stderr == (
        "script.py: the outcomes could not be found\n"
        "it launches no kernel: it imports neither a compiler nor cuda.bindings"
    )


def test_the_document(project):
    status, stdout, _ = command(project, "store_buffer", "--json", "--bound", "20")
    (case,) = result_of(stdout, status)["cases"]
    assert status == 0 and case["complete"] and case["bound"] == 20 and case["never"] == {}
    assert [each["outputs"]["r"] for each in case["results"]] == ["[0, 1]", "[1, 0]", "[1, 1]", "[0, 0]"]
    (launch,) = case["launches"]
    assert [each["interleaving"] for each in launch["outcomes"]] == [True, True, True, False]
    assert launch["outcomes"][3]["steps"][3] == {
        "block": 1, "thread": 0, "instruction": "ld.global.b32", "file": "repros/store_buffer.py", "line": 20,
        "code": "r[mine] = flags[1 - mine]", "does": "reads", "place": "flags[0]", "value": "0", "read_from": None,
        "early": False, "unseen": 0,
    }  # fmt: skip


def test_the_document_of_a_failure(project):
    (project / "script.py").write_text("print(1)\n")
    status, stdout, _ = command(project, "script.py", "--json")
    (case,) = result_of(stdout, status)["cases"]
    assert (status, case["results"], case["launches"]) == (3, [], [])
    assert case["text"] == "it launches no kernel: it imports neither a compiler nor cuda.bindings"


def test_a_parameter_that_it_does_not_have(project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    assert main(["outcomes", "store_buffer", "-p", "width=8"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "width" in said.err


def test_a_bound_of_zero(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["outcomes", "store_buffer", "--bound", "0"])
    assert capsys.readouterr().err.endswith("repro outcomes: error: argument --bound: must be 1 or more, got 0\n")


def test_ctrl_c_ends_it(project):
    """A search that takes minutes."""
    adds = "\n".join(f"    a{n} = cute.arch.atomic_add(flags.iterator, 1)" for n in range(3))
    body = f"    mine, _, _ = cute.arch.block_idx()\n{adds}\n    r[mine] = a0 + 4 * a1 + 16 * a2\n"
    (project / "repros/store_buffer.py").write_text(
        with_body(body).replace("grid=(2,", "grid=(4,").replace("full((2,)", "full((4,)")
    )
    process = started(project, "store_buffer")
    told = [process.stderr.readline(), process.stderr.readline()]
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130
    assert all(line.startswith("repros/store_buffer.py: looking for all outcomes (") for line in told)
    assert stderr.splitlines()[-1] == "interrupted: nothing is left running, no golden was written"
