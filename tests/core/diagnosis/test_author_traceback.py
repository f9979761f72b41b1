"""Errors that leave the compiler: they show only the author's frames, whoever prints them,
and describe internal failures in the author's words.

Modules tested here: dsl/span.py.
"""

import os
import re
import subprocess
import sys
import textwrap

import pytest

from tests import fork_server

HEAD = """\
import cutlass
import cutlass.cute as cute


@cute.jit
def wrong(n: cutlass.Int32):
    for i in range(n):
        if i > 2:
            x = {}[n.width]
    return n


@cute.jit
def refused(n: cutlass.Int32):
    return int(n)


@cute.jit
def odd(n: cutlass.Int32):
    return cute.zipped_divide(slice(None), (4,))


"""


def run(folder, program: str, *arguments, **environment) -> subprocess.CompletedProcess:
    (folder / "author.py").write_text(HEAD + textwrap.dedent(program))
    return fork_server.run(["-m", "dsl", *arguments, "author.py"], cwd=folder, env={**os.environ, **environment})


def frames(text: str) -> list[tuple[str, str, str]]:
    """(file, line, function) of each frame, of the author's file."""
    return [found for found in re.findall(r'File "(\S+)", line (\d+), in (\S+)', text) if found[0] == "author.py"]


def test_every_printer_shows_the_authors_frames_alone(tmp_path):
    done = run(
        tmp_path,
        """\
        import concurrent.futures, logging, sys, threading, traceback
        for function in (wrong, refused, odd):
            threading.Thread(target=function, args=(3,)).start()
        for thread in threading.enumerate()[1:]:
            thread.join()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            logging.error("pool", exc_info=pool.submit(wrong, 3).exception())
        try:
            wrong(3)
        except KeyError as error:
            logging.exception("log")
            traceback.print_exc()
            sys.excepthook(type(error), error, error.__traceback__)
        try:
            cute.compile(wrong, 3)
        except KeyError:
            traceback.print_exc()
        """,
    )
    assert done.returncode == 0 and f"{os.sep}dsl{os.sep}" not in done.stderr
    assert done.stderr.count("Traceback") == 8
    called = frames(done.stderr)
    assert called.count(("author.py", "9", "wrong")) == 6 and ("author.py", "7", "wrong") not in called
    assert "author.py:15:12: PHASE_DYNAMIC_INDEX\n    return int(n)\n           ^^^^^^ " in done.stderr


def test_the_layout_functions_name_what_they_are_given(tmp_path):
    assert (
        run(tmp_path, "odd(3)").stderr
        == """\
author.py:20:12: DSLUserCodeLayoutError
    return cute.zipped_divide(slice(None), (4,))
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `zipped_divide` is not defined for target: slice, tiler: tuple of 1
fix: give integers, tuples of them, layouts or tensors
"""
    )


def test_a_fault_of_the_compiler_is_reported_at_the_authors_expression(tmp_path):
    program = """\
        from dsl.tile.tensor import tensor
        def broken(*arguments, **keywords):
            return None.nothing
        tensor.Tensor.fill = broken.__class__(broken.__code__.replace(co_filename=tensor.__file__), {})
        @cute.jit
        def host(n: cutlass.Int32):
            cute.make_rmem_tensor((4,), cutlass.Float32).fill(n)
        host(3)
        """
    assert (
        run(tmp_path, program).stderr
        == """\
author.py:29:5: INTERNAL
    cute.make_rmem_tensor((4,), cutlass.Float32).fill(n)
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ fails: AttributeError: \
'NoneType' object has no attribute 'nothing'
fix: look at the types of its arguments; where they are right, report it with what GPU_REPRO_FULL_TRACEBACK=1 shows
"""
    )
    assert "tile/tensor/tensor.py" in run(tmp_path, program, GPU_REPRO_FULL_TRACEBACK="1").stderr
    assert "tile/tensor/tensor.py" in run(tmp_path, program, "--full-traceback").stderr


def test_plain_python_sees_no_frame_of_ours_either(tmp_path):
    done = run(
        tmp_path,
        """\
        import traceback
        from cutlass.cute.nvgpu import warpgroup
        from cutlass.cute.runtime import from_dlpack
        from cutlass.experimental import primitives
        for wrong in (lambda: from_dlpack("text"), lambda: cute.make_layout("text"), lambda: cute.size(), \
lambda: cute.nothing, lambda: cutlass.nothing, lambda: cutlass.utils.nothing, lambda: warpgroup.nothing, \
lambda: primitives.nothing):
            try:
                wrong()
            except cutlass.DSLUserCodeError as error:
                traceback.print_exc()
        """,
    )
    assert done.stderr.count("Traceback") == 8 and f"{os.sep}dsl{os.sep}" not in done.stderr
    assert "CALL_MISSING_ARG" in done.stderr and "`size` needs `x`\n" in done.stderr


def test_pythons_own_operations_raise_pythons_own_exceptions(tmp_path):
    done = run(
        tmp_path,
        """\
        @cute.jit
        def host(n: cutlass.Int32):
            for each, wrong in ((lambda: 3 in n, TypeError), (lambda: [1][4], IndexError), \
(lambda: max(int, str), TypeError)):
                try:
                    each()
                except wrong as error:
                    print(type(error).__name__, error)
            {}["a"]
        try:
            host(3)
        except KeyError as error:
            print("KeyError", error)
        """,
    )
    assert done.stdout.splitlines() == [
        "TypeError argument of type 'Int32' is not iterable",
        "IndexError list index out of range",
        "TypeError '>' not supported between instances of 'type' and 'type'",
        "KeyError 'a'",
    ], done.stderr


LINES = """\
\ufeff# \u65e5\u672c
import cutlass, cutlass.cute as cute
@cute.jit
def wide(n: cutlass.Int32):
    s = '\u65e5\u672c\u00e9'; z = int(n)
\f
@cute.jit
def tabs(n: cutlass.Int32):
\ts\t= '\u65e5'; z = int(n)
@cute.jit
def combined(n: cutlass.Int32):
    s = 'e\u0301'; z = int(n)
@cute.jit
def lines(n: cutlass.Int32):
    s = '\u2028'; z = '\u65e5' if n > int(\\
        n) else 0
for function in (wide, tabs, combined, lines):
    try:
        function(3)
    except cutlass.DSLUserCodeError as error:
        print(str(error).partition(" is a")[0])
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_carets_are_under_the_right_columns(tmp_path, ends):
    (tmp_path / "author.py").write_bytes(LINES.replace("\n", ends).encode())
    done = subprocess.run(
        [sys.executable, "-m", "dsl", "author.py"],
        capture_output=True,
        timeout=600,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert (
        done.stdout.decode()
        == """\
author.py:5:20: PHASE_DYNAMIC_INDEX
    s = '\u65e5\u672c\u00e9'; z = int(n)
                     ^^^^^^
author.py:9:15: PHASE_DYNAMIC_INDEX
    s\t= '\u65e5'; z = int(n)
     \t            ^^^^^^
author.py:12:19: PHASE_DYNAMIC_INDEX
    s = 'e\u0301'; z = int(n)
                 ^^^^^^
author.py:15:29: PHASE_DYNAMIC_INDEX
    s = '\u2028'; z = '\u65e5' if n > int(\\
                             ^^^^^
"""
    ), done.stderr.decode()


def test_standard_input_in_any_locale(tmp_path):
    program = LINES.partition("for function")[0] + "wide(3)"
    done = subprocess.run(
        [sys.executable, "-m", "dsl", "-"],
        input=program.encode(),
        capture_output=True,
        timeout=600,
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert "<stdin>:5:20: PHASE_DYNAMIC_INDEX\n    s = '\\u65e5" in done.stderr.decode()


@pytest.mark.slow
def test_without_standard_output_it_compiles_and_runs(tmp_path):
    (tmp_path / "author.py").write_text("""\
import cutlass, cutlass.cute as cute
@cute.kernel
def kernel(n: cutlass.Int32):
    smem = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int32, 4)
    smem[0] = n
    cute.printf("%d", smem[0])
@cute.jit
def host(n: cutlass.Int32):
    print("tracing", n, flush=True)
    cute.printf("%d", n)
    kernel(n).launch(grid=1, block=1)
host(3)
open("done", "w").close()
""")
    done = subprocess.run(
        f"exec {sys.executable} -m dsl --no-cache author.py >&-",
        shell=True,
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "done").exists()
