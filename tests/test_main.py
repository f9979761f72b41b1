"""`python -m dsl`: programs from files and standard input, stages shown, mistakes answered, nothing left hanging.

Modules tested here: dsl/alias.py.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dsl.__main__ import main
from tests import fork_server

HEAD = """\
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

"""
GOOD = (
    HEAD
    + """\
@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    if t == 1:
        cute.printf("thread {} of {}: {}", t, n, 1.5)
    out[t] = t * n


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    cute.printf("launching {}", n)
    kernel(out, n).launch(grid=1, block=4)


def run(n=3):
    import torch

    out = torch.zeros(4, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), n)
    return {"out": out.cpu().numpy()}
"""
)


def dsl(*arguments: str, text: str | None = None, folder: Path | None = None) -> subprocess.CompletedProcess:
    return fork_server.run(["-m", "dsl", *arguments], input=text, cwd=folder)


def failing(tmp_path: Path, body: str) -> str:
    """The standard error of a program that must fail with status 1."""
    (tmp_path / "author.py").write_text(HEAD + body)
    run = dsl("--device", "emulator", "author.py", folder=tmp_path)
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stderr.rstrip()


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["../author.py"]) == 2
    assert capsys.readouterr().err == "dsl: the working directory is gone\nfix: `cd` to one that is there\n"


@pytest.mark.parametrize("option, what", [
    (("--timeout", "nan"), "--timeout: must be a number of seconds above 0, got nan"),
    (("--timeout", "-1"), "--timeout: must be a number of seconds above 0, got -1"),
    (("--timeout", "soon"), "--timeout: must be a number of seconds above 0, got soon"),
    (("--seed", "-1"), "--seed: must be 0-4294967295, got -1"),
    (("--seed", "4294967296"), "--seed: must be 0-4294967295, got 4294967296"),
])  # fmt: skip
def test_numbers_that_an_option_does_not_take(option, what, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*option, "author.py"])
    assert capsys.readouterr().err.endswith(f"python -m dsl: error: argument {what}\n")


def test_a_file_that_defines_run_has_it_called(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    run = dsl("good.py", "--device", "emulator", folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "launching 3\nthread 1 of 3: 1.500000\nout = [0 3 6 9]\n"


def test_params_are_given_by_name(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    assert "out = [ 0  7 14 21]" in dsl("good.py", "-p", "n=7", "--device", "emulator", folder=tmp_path).stdout


@pytest.mark.slow
def test_a_seed_chooses_the_order_of_threads(tmp_path):
    """The first thread at an atomic: thread 0 without a seed, otherwise the seed's choice, each time the same."""
    body = GOOD.replace("out[t] = t * n", "out[t] = cute.arch.atomic_add(n_ptr.iterator, cutlass.Int32(1))")
    body = body.replace("n: cutlass.Int32)", "n: cutlass.Int32, n_ptr: cute.Tensor)").replace(
        "kernel(out, n)", "kernel(out, n, n_ptr)"
    )
    body = body.replace("host(from_dlpack(out), n)", "host(from_dlpack(out), n, from_dlpack(np.zeros(1, np.int32)))")
    (tmp_path / "order.py").write_text(body)

    def out(*options: str) -> str:
        run = dsl(*options, "order.py", "--device", "emulator", folder=tmp_path)
        assert run.returncode == 0, run.stderr
        return run.stdout.splitlines()[-1]

    assert out() == "out = [0 1 2 3]"
    seeded = [out("--seed", str(n)) for n in range(1, 5)]
    assert len({*seeded}) > 1 and out("--seed", "4") == seeded[3]
    (tmp_path / "list.txt").write_text("4: 0-99999\n")
    assert out("--schedule", "4") == out("--schedule", "@list.txt") == seeded[3]
    assert out("--schedule", "4:") == out("--schedule", "3:")
    run = dsl("--schedule", "4", "order.py", "--device", "emulator", folder=tmp_path)
    assert re.search(r"^dsl: decisions taken: --schedule '4: 0-\d+'$", run.stderr, re.MULTILINE)


def test_a_wrong_schedule_is_wrong_usage(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    for text, why in (("7: x", "a schedule must be like"), ("@none.txt", "No such file")):
        run = dsl("--schedule", text, "good.py", "--device", "emulator", folder=tmp_path)
        assert run.returncode == 2 and "dsl: --schedule: " in run.stderr and why in run.stderr


def test_standard_input_has_a_source_too():
    run = dsl("-", "--device", "emulator", text=GOOD)
    assert run.returncode == 0 and "out = [0 3 6 9]" in run.stdout, run.stderr


@pytest.mark.parametrize(
    "stage, expected",
    [
        ("mlir", r"llvm\.func @kernel_kernel_0\(.*nvvm\.kernel"),
        ("cuda", r'extern "C" __global__ void __launch_bounds__\(\d+\) kernel_kernel_0\('),
        ("llvm", r"define ptx_kernel void @kernel_kernel_0\("),
        ("ptx", r"\.visible \.entry kernel_kernel_0\((?s:.*)\.loc\t1 8 "),
        ("sass", r"S2R R\d+, SR_TID\.X"),
    ],
)
def test_every_stage_can_be_shown(stage, expected, tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    run = dsl("good.py", "--device", "emulator", "--show", stage, folder=tmp_path)
    assert run.returncode == 0 and re.search(expected, run.stdout), run.stdout + run.stderr


def test_a_write_past_the_end_names_the_line(tmp_path):
    text = failing(
        tmp_path,
        """\
@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    out[t + 3] = t


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=1, block=2)


import torch

host(from_dlpack(torch.zeros(4, dtype=torch.int32, device="cuda")))
""",
    )
    text = re.sub(r"PTX line \d+", "PTX line …", re.sub(r"0x[0-9a-f]+", "0x…", text))
    assert (
        re.sub(r"%rd\d+\+?\d*|%r\d+", "…", text)
        == """\
author.py:9:5: OUT_OF_BOUNDS
    out[t + 3] = t
    ^ write of 4 bytes at 0x… is just past the end of `out` (16 bytes)
    in `kernel_kernel_0`, block (0, 0, 0), thread (1, 0, 0) = warp 0, lane 1
    PTX line …: st.global.b32 […], …;"""
    )


def test_a_deadlock_is_a_report(tmp_path):
    text = failing(
        tmp_path,
        """\
@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    if t < out[0]:
        cute.arch.sync_threads()
    else:
        cute.arch.barrier(1, 64)
    out[1] = t


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=1, block=64)


import torch

host(from_dlpack(torch.tensor([40, 0], dtype=torch.int32, device="cuda")))
""",
    )
    assert (
        re.sub(r"PTX line \d+", "PTX line …", text)
        == """\
author.py:10:9: DEADLOCK
    cute.arch.sync_threads()
    ^ no thread can continue in block (0, 0, 0) of `kernel_kernel_0`
    warp 0, warp 1 lanes 0-7 wait at `bar.sync 0;` (author.py:10), PTX line …
        for warp 1 lanes 8-31 (at `bar.sync 1, 64;`, PTX line …)
    warp 1 lanes 8-31 wait at `bar.sync 1, 64;` (author.py:12), PTX line …
        for 32 more threads of the 64 that barrier 1 counts
fix: let both meet at one barrier: warp 0, warp 1 lanes 0-7 wait at barrier 0 (author.py:10), \
warp 1 lanes 8-31 at barrier 1 (author.py:12)"""
    )


RACY = (
    HEAD
    + """\
@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    words = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    words[t] = t
    out[t] = words[63 - t]


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=1, block=64)


import torch



host(from_dlpack(torch.zeros(64, dtype=torch.int32, device="cuda")))
"""
)


def test_notes_about_synchronisation_change_no_status(tmp_path, monkeypatch):
    barrier = "    cute.arch.sync_threads()\n"
    (tmp_path / "twice.py").write_text(RACY.replace("    out[t] = words", 2 * barrier + "    out[t] = words"))
    plain, noted = dsl("twice.py", folder=tmp_path), dsl("--notes", "twice.py", folder=tmp_path)
    assert (plain.returncode, noted.returncode) == (0, 0) and "KernelNote" not in plain.stderr
    told = (
        r"twice\.py:11: KernelNote: REDUNDANT_SYNC: `bar\.sync` is not needed in this run \(1 block of 64 threads\): "
    )
    assert re.search(rf"{told}what it separates is ordered by the `bar\.sync` of line 12 too, ", noted.stderr), (
        noted.stderr
    )
    monkeypatch.setenv("GPU_REPRO_NOTES", "1")
    assert "REDUNDANT_SYNC" in dsl("twice.py", folder=tmp_path).stderr


@pytest.mark.slow
def test_races_and_undefined_reads_are_looked_for(tmp_path):
    (tmp_path / "racy.py").write_text(RACY)
    for unchecked in (("--check", "none"), ("--delays", "seed 0")):
        assert dsl(*unchecked, "racy.py", folder=tmp_path).returncode == 0
    for checks in ((), ("--check", "race"), ("--check", "all")):
        found = dsl(*checks, "racy.py", folder=tmp_path)
        assert found.returncode == 1 and found.stderr.startswith("racy.py:10:5: RACE\n"), found.stderr
        assert found.stderr.endswith(
            "fix: put a barrier of the block (`cute.arch.sync_threads()`) between line 10 and line 11\n"
        )
    assert "racy.py:11:14: UNDEFINED_READ" in dsl("--check", "undefined", "racy.py", folder=tmp_path).stderr
    wrong = dsl("--check", "races", "racy.py", folder=tmp_path)
    assert (
        wrong.returncode == 2 and "unknown check `races`; write all, none, or some of race, undefined" in wrong.stderr
    )


def test_the_former_name_of_our_compiler_gives_a_note(tmp_path):
    (tmp_path / "author.py").write_text("print(1)\n")
    run = dsl("--compiler", "embedded", "author.py", folder=tmp_path)
    note = "dsl: note: the compiler `embedded` is now `ours`; the old spelling ends with 0.3\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, "1\n", note)


def test_a_rejected_program_shows_its_line(tmp_path):
    assert (
        failing(
            tmp_path,
            """\
@cute.jit
def host():
    x = cute.arch.thread_idx()


host()
""",
        )
        == """\
author.py:8:9: CALL_OUTSIDE_KERNEL
    x = cute.arch.thread_idx()
        ^^^^^^^^^^^^^^^^^^^^^^ is only known inside a kernel, but this runs in a @cute.jit host function
fix: call it in a @cute.kernel function"""
    )


def test_a_kernel_that_is_never_launched(tmp_path):
    assert (
        failing(
            tmp_path,
            """\
@cute.kernel
def kernel():
    pass


@cute.jit
def host():
    kernel()


host()
""",
        )
        == """\
author.py:13:5: LAUNCH_NEVER_ISSUED
    kernel()
    ^^^^^^^^ makes a call of kernel `kernel` that is never launched
fix: add the launch: `kernel(...).launch(grid=..., block=...)`"""
    )


def test_a_name_of_upstream_that_is_not_here_yet(tmp_path):
    assert (
        failing(tmp_path, "cute.export\n")
        == """\
author.py:6:1: UNSUPPORTED_NAME
    cute.export
    ^^^^^^^^^^^ cutlass.cute.export is not part of this compiler yet
fix: see docs/cute.md for what is, or run the file with NVIDIA's compiler"""
    )


def test_the_authors_own_exception_keeps_the_authors_frames_only(tmp_path):
    text = failing(
        tmp_path,
        """\
@cute.jit
def host(x: cutlass.Float32):
    helper(x)


def helper(x):
    return {}["nope"]


host(1.0)
""",
    )
    assert re.findall(r'File "(\S+)", line (\d+)', text) == [
        ("author.py", "15"),
        ("author.py", "8"),
        ("author.py", "12"),
    ]
    assert text.endswith("KeyError: 'nope'")


def test_a_syntax_error(tmp_path):
    (tmp_path / "author.py").write_text("def f(:\n    pass\n")
    run = dsl("author.py", folder=tmp_path)
    assert run.returncode == 1
    assert run.stderr.splitlines()[0].strip() == 'File "author.py", line 1'


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("no_such_file.py",), "dsl: cannot read no_such_file.py: No such file or directory"),
        ((), "give a FILE, - for standard input, -m MODULE, or -i for a prompt"),
        (("--show", "assembler", "x.py"), "invalid choice: 'assembler'"),
        (("--chek", "none", "x.py"), "error: there is no option --chek; did you mean `--check`?\n"),
        (("--chek=none", "-m", "json.tool"), "error: there is no option --chek=none; did you mean `--check`?\n"),
        (("--frobnicate",), "error: there is no option --frobnicate\n"),
    ],
)
def test_wrong_usage(arguments, says, tmp_path):
    run = dsl(*arguments, folder=tmp_path)
    assert run.returncode == 2 and says in run.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.ptx", ".version 8.0", "dsl: a.ptx is not Python\nfix: repro run a.ptx\n"),
        ("a.py", "from numba import cuda", "dsl: a.py imports Numba, whose kernels run in another process\nfix: repro run a.py\n"),
    ],
)  # fmt: skip
def test_programs_that_only_repro_run_runs(name, text, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setattr("sys.argv", ["dsl"])
    Path(name).write_text(text)
    assert main([name]) == 2 and capsys.readouterr().err == said


@pytest.mark.slow
def test_ctrl_c_stops_a_kernel_that_never_ends(tmp_path):
    (tmp_path / "author.py").write_text(
        HEAD
        + """\
@cute.kernel
def kernel(out: cute.Tensor):
    i = 0
    while out[0] == 0:
        i += 1
    out[1] = i


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=1, block=64)


print("launching", flush=True)
import torch

host(from_dlpack(torch.zeros(4, dtype=torch.int32, device="cuda")))
"""
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "dsl", "--device", "emulator", "author.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout.readline() == "launching\n"
    time.sleep(1.0)
    assert running.poll() is None
    os.kill(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=600)
    assert running.returncode == 130 and errors.endswith("dsl: stopped\n") and "Traceback" not in errors
    *where, _ = errors.splitlines()  # none while it still compiles
    assert not where or where[0] == "author.py:9:11: STOPPED"


def test_a_program_that_upstream_rejects_warns_or_fails(tmp_path, monkeypatch):
    (tmp_path / "author.py").write_text(
        HEAD
        + """\
@cute.jit
def host(n: cutlass.Int32):
    for i in range(n):
        if i == 2:
            break
        cute.printf("{}", i)


host(5)
"""
    )
    run = dsl("author.py", "--device", "emulator", folder=tmp_path)
    assert (run.returncode, run.stdout) == (0, "0\n1\n")
    assert run.stderr.splitlines()[0] == (
        "author.py:10: PortabilityWarning: `break` leaves a dynamic statement: "
        "NVIDIA's compiler rejects that (UNSUP_EARLY_EXIT)"
    )
    strict = dsl("author.py", "--device", "emulator", "--portable", folder=tmp_path)
    assert strict.returncode == 1 and strict.stderr.startswith(
        "author.py:10:13: UNSUP_EARLY_EXIT\n    break\n    ^^^^^ "
    )
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    quiet = dsl("author.py", "--device", "emulator", folder=tmp_path)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "0\n1\n", "")


EXECUTED = """\
import cutlass
import cutlass.cute as cute

for k in (1, 2):
    names = {"cutlass": cutlass, "cute": cute}
    exec(f"@cute.jit\\ndef host(n: cutlass.Int32):\\n    if n > {k}: n = n + {k}\\n    return n", names)
    print(names["host"](5))
"""


@pytest.mark.slow
def test_executed_texts_and_standard_input_are_compiled(tmp_path):
    after = "import atexit\natexit.register(lambda: print(exec))\n"
    (tmp_path / "author.py").write_text(EXECUTED + after)
    assert dsl("author.py", folder=tmp_path).stdout == "6\n7\n<built-in function exec>\n"
    assert dsl("-", text=EXECUTED, folder=tmp_path).stdout == "6\n7\n"
    wrong = EXECUTED.replace("return n", "return bool(n)")
    run = dsl("-", text=wrong, folder=tmp_path)
    warning, _, error = run.stderr.rstrip().partition("  @cute.jit\n")
    assert warning == (
        "<text at <stdin>:6>:1: PortabilityWarning: the text of `host` is in no file: NVIDIA's compiler "
        "rejects that (UNSUP_NO_SOURCE)\n"
    )
    assert (
        error
        == """\
<text at <stdin>:6>:4:12: PHASE_REQUIRES_CONSTANT
    return bool(n)
           ^^^^^^^ Python needs a bool while compiling, got a dynamic Int32
fix: use it as it is, or `cutlass.Boolean(x)`"""
    )


def test_without_dsl_the_missing_source_is_reported(tmp_path):
    program = "from dsl import alias\nalias.install('emulator')\n" + EXECUTED
    run = fork_server.run(["-"], warm="dsl", input=program, cwd=tmp_path)
    assert run.stderr.rstrip().endswith("""\
    the source of `host` cannot be read: it was made by exec or eval
fix: put it in a file, or run the program with `python -m dsl FILE`, `python -m dsl -` or, \
as a prompt, `python -m dsl -i`""")


@pytest.mark.slow
def test_the_compilers_frames_come_on_demand(tmp_path):
    (tmp_path / "author.py").write_text(EXECUTED.replace("return n", "return bool(n)"))
    (tmp_path / "python.py").write_text("import math\nimport cutlass\nmath.sqrt(-1)\n")
    variable = {**os.environ, "GPU_REPRO_FULL_TRACEBACK": "1"}
    shown = [
        dsl("--full-traceback", "author.py", folder=tmp_path).stderr,
        fork_server.run(["-m", "dsl", "author.py"], cwd=tmp_path, env=variable).stderr,
    ]
    for text in shown:
        assert (
            re.search(r'File "\S*dsl/core/control_flow/expressions.py", line \d+, in bool_', text)
            and "Traceback" in text
        )
    assert "dsl/" not in dsl("author.py", folder=tmp_path).stderr
    assert (
        dsl("python.py", folder=tmp_path).stderr
        == """\
Traceback (most recent call last):
  File "python.py", line 3, in <module>
    math.sqrt(-1)
ValueError: math domain error
"""
    )


def test_a_failed_assertion_of_a_kernel(tmp_path):
    assert (
        re.sub(
            r"PTX line .*",
            "PTX line",
            failing(
                tmp_path,
                """\
@cute.kernel
def kernel(n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    assert t < n, f"{t} is too many"


@cute.jit
def host(n: cutlass.Int32):
    kernel(n).launch(grid=1, block=40)


import warnings
warnings.simplefilter("ignore")
host(33)
""",
            ),
        )
        == """\
author.py:9:5: TRAP
    assert t < n, f"{t} is too many"
    ^ assertion failed: Int32 t is too many
    in `kernel_kernel_0`, block (0, 0, 0), thread (33, 0, 0) = warp 1, lane 1
    PTX line"""
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "line, language", [("import quadrants as qd", "Quadrants"), ("from tvm.script import tirx as T", "TIRx")]
)
def test_nvidias_compiler_takes_no_other_language(tmp_path, line, language):
    (tmp_path / "other.py").write_text(line + "\n")
    run = dsl("--compiler", "nvidia", "other.py", folder=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        f"dsl: other.py is written in {language}: NVIDIA's compiler does not take it; leave out --compiler nvidia\n"
    )


def test_a_function_called_run_that_needs_arguments_is_the_programs_own(tmp_path):
    for text in ("def run(f):\n    return f\n", "def run(*, n):\n    return n\n"):
        (tmp_path / "author.py").write_text(text + "print('plain')\n")
        done = fork_server.run(["-m", "dsl", "author.py"], cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "plain\n", "")


@pytest.mark.parametrize("code, status, said", [("", 0, ""), ("7", 7, ""), ("'no data'", 1, "no data\n")])
def test_sys_exit_is_pythons(tmp_path, code, status, said):
    (tmp_path / "ends.py").write_text(f"import sys\nsys.exit({code})\n")
    run = dsl("--device", "emulator", "ends.py", folder=tmp_path)
    assert (run.returncode, run.stderr) == (status, said)


RETURNS = "import cutlass\ndef run():\n    return {'out': 1}\n"
BREAKS_ANOTHER_PIPE = """\
import os
read, write = os.pipe()
os.close(read)
print("before")
os.write(write, b"x")
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["returns.py"], ["prints.py"], ["--show", "ptx", "returns.py"]]
)
def test_output_that_nothing_takes(tmp_path, words, unbuffered):
    (tmp_path / "returns.py").write_text(RETURNS)
    (tmp_path / "prints.py").write_text("print('hi')\n")
    command = [sys.executable, "-m", "dsl", "--device", "emulator", *words]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    read, write = os.pipe()
    os.close(read)
    with open("/dev/full", "w") as full, os.fdopen(write, "w") as unread:
        done = [
            subprocess.run(command, cwd=tmp_path, env=environment, stdout=one, stderr=subprocess.PIPE, text=True)
            for one in (full, unread)
        ]
    assert [(one.returncode, one.stderr) for one in done] == [
        (3, "dsl: standard output: No space left on device\n"), (141, "")
    ]  # fmt: skip


def test_a_broken_pipe_of_the_program_is_its_failure(tmp_path):
    (tmp_path / "breaks.py").write_text(BREAKS_ANOTHER_PIPE)
    done = dsl("--device", "emulator", "breaks.py", folder=tmp_path)
    assert (done.returncode, done.stdout.split()) == (1, ["before"])
    assert done.stderr.endswith("BrokenPipeError: [Errno 32] Broken pipe\n")


@pytest.mark.parametrize("words", [("prints.py",), ("-m", "prints"), ("-mprints",), ("--", "prints.py")])
def test_options_after_the_name_are_the_programs(tmp_path, words):
    (tmp_path / "prints.py").write_text("import sys\nprint(sys.argv[1:])\n")
    done = dsl("--device", "emulator", *words, "--chek", "-x", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['--chek', '-x']\n", "")


def test_version():
    done = dsl("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"gpu-repro [0-9.]+, Python [0-9.]+[^ ]*\n", done.stdout)
