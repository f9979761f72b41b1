"""The two processes: how they find, hear and outlive each other.

Modules tested here: dsl/driver/arena.py, dsl/driver/messages.py, dsl/driver/ring.py.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.driver.conftest import TIMEOUT_S, environment

LAUNCH = "cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL)"
BEGIN = """
  handle module = begin(), count = function_of(module, "count"), spin = function_of(module, "spin");
  address at; u32 by = 1; void *params[] = {&at, &by};
  CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuMemsetD32_v2(at, 0, 1));
"""


def helpers(process: int) -> list[int]:
    """The helpers of a program."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"dsl.driver.helper" in words and words[-3] == str(process).encode():
            found.append(int(folder.name))
    return found


def ends(processes: list[int], seconds: float = 20) -> bool:
    """Whether the processes end by themselves."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(Path(f"/proc/{each}").exists() for each in processes):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def started(build):
    """`started(body)`: a program that runs, whose output is read line by line."""
    running = []

    def start(body: str, before: str = "", **more: str) -> subprocess.Popen:
        running.append(
            subprocess.Popen(
                [build(body, before)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=environment() | more, start_new_session=True,
            )
        )  # fmt: skip
        return running[-1]

    yield start
    for each in running:
        if each.poll() is None:
            each.kill()
        each.communicate()


def test_allocation_alone_starts_no_helper(started):
    program = started("""
      handle context; address at;
      CHECK(cuInit(0)); CHECK(cuDevicePrimaryCtxRetain(&context, 0)); CHECK(cuCtxSetCurrent(context));
      CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuMemsetD32_v2(at, 7, 1)); printf("%d\\n", *(int *)at); fflush(stdout); getchar();
    """)  # fmt: skip
    assert program.stdout.readline() == "7\n" and helpers(program.pid) == []


def test_the_program_does_not_become_the_parent_of_the_helper(run):
    text = run(BEGIN + f"""
      int status; CHECK({LAUNCH}); printf("%d\\n", wait(&status));
    """, "#include <sys/wait.h>")  # fmt: skip
    assert text == "-1\n"


def test_the_helper_ends_with_the_program(started):
    program = started(
        BEGIN + f'CHECK({LAUNCH}); printf("ready\\n"); fflush(stdout); for (;;) sleep(1);', "#include <unistd.h>"
    )
    assert program.stdout.readline() == "ready\n"
    (helper,) = helpers(program.pid)
    program.kill()
    assert ends([helper])


def test_a_helper_in_a_kernel_ends_with_the_program(started):
    program = started(
        BEGIN + 'printf("ready\\n"); fflush(stdout); cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);'
    )
    assert program.stdout.readline() == "ready\n"
    time.sleep(1)
    (helper,) = helpers(program.pid)
    program.kill()
    assert ends([helper])


def test_ctrl_c_ends_both(started):
    program = started(
        BEGIN + 'printf("ready\\n"); fflush(stdout); cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);'
    )
    assert program.stdout.readline() == "ready\n"
    time.sleep(1)
    (helper,) = helpers(program.pid)
    os.killpg(program.pid, signal.SIGINT)
    assert program.wait(TIMEOUT_S) == -signal.SIGINT and ends([helper])


def test_a_program_that_handles_ctrl_c_goes_on_without_the_kernel(started):
    program = started(BEGIN + """
      signal(SIGINT, heard); printf("ready\\n"); fflush(stdout);
      CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL)); TELL(cuCtxSynchronize());
    """, '#include <signal.h>\nvoid heard(int number) {}')  # fmt: skip
    assert program.stdout.readline() == "ready\n"
    time.sleep(1)
    os.killpg(program.pid, signal.SIGINT)
    rest = program.communicate(timeout=TIMEOUT_S)[0]
    assert "Ctrl-C stopped `spin`" in rest and "cuCtxSynchronize(): 719" in rest


def test_a_helper_that_is_killed_is_an_error_that_stays(started):
    program = started(BEGIN + f"""
      CHECK({LAUNCH}); printf("ready\\n"); fflush(stdout); getchar();
      TELL({LAUNCH}); TELL({LAUNCH}); TELL(cuMemcpyDtoH_v2(&by, at, 4));
    """, "#define getchar() sleep(2)\n#include <unistd.h>")  # fmt: skip
    assert program.stdout.readline() == "ready\n"
    (helper,) = helpers(program.pid)
    os.kill(helper, signal.SIGKILL)
    lines = program.communicate(timeout=TIMEOUT_S)[0].splitlines()
    assert sum(line.endswith(": 719") for line in lines) == 3
    assert "gpu-repro: the helper process, which runs the kernels, has ended" in lines


def test_a_child_after_a_fork_is_refused_and_the_program_goes_on(run):
    text = run(BEGIN + f"""
      CHECK({LAUNCH}); fflush(stdout);
      if (!fork()) {{ TELL({LAUNCH}); TELL(cuInit(0)); TELL(cuMemAlloc_v2(&at, 4)); exit(0); }}
      int status; wait(&status); TELL({LAUNCH}); TELL(cuCtxSynchronize());
    """, "#include <sys/wait.h>\n#include <unistd.h>")  # fmt: skip
    assert re.findall(r": (\d+)\n", text) == ["3", "3", "3", "0", "0"]


def test_a_child_may_begin_by_itself_if_its_parent_has_not(run):
    text = run(
        f"int status; if (!fork()) {{ {BEGIN} TELL({LAUNCH}); exit(0); }} wait(&status); {BEGIN} TELL({LAUNCH});",
        "#include <sys/wait.h>\n#include <unistd.h>",
    )
    assert re.findall(r": (\d+)\n", text) == ["0", "0"]


def test_functions_that_run_at_exit_may_call(run):
    text = run(
        BEGIN + f"CHECK({LAUNCH}); atexit(last); exit(0);",
        'void last(void) { address at; handle module; TELL(cuMemAlloc_v2(&at, 4)); TELL(cuModuleLoadData(&module, PTX)); }\n'
        '__attribute__((destructor)) void really_last(void) { address at; TELL(cuMemAlloc_v2(&at, 4)); }',
    )  # fmt: skip
    assert re.findall(r": (\d+)\n", text) == ["0", "0", "0"]


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/false"])
def test_a_helper_that_cannot_start(run, python):
    text = run("handle module; handle context; CHECK(cuInit(0)); CHECK(cuDevicePrimaryCtxRetain(&context, 0));"
               "CHECK(cuCtxSetCurrent(context)); TELL(cuModuleLoadData(&module, PTX));",
               GPU_REPRO_HELPER_PYTHON=python)  # fmt: skip
    if python == "/bin/false":
        assert "PTX): 719" in text and "the helper process, which runs the kernels, has ended" in text
    else:
        assert "PTX): 304" in text and "fix: set GPU_REPRO_HELPER_PYTHON to the Python" in text


def test_without_addresses_for_device_memory(build):
    made = build("address at; handle context; CHECK(cuInit(0)); CHECK(cuDevicePrimaryCtxRetain(&context, 0));"
                 "CHECK(cuCtxSetCurrent(context)); TELL(cuMemAlloc_v2(&at, 4));")  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 1000000; {made}"], capture_output=True, text=True, env=environment()
    )
    assert "): 2\n" in done.stdout and "fix: raise the limit (ulimit -v unlimited)" in done.stderr


def test_a_setting_that_is_wrong_is_explained(run):
    text = run(f"{BEGIN} TELL({LAUNCH});", GPU_REPRO_GPU_MODEL="voodoo")
    assert (
        "gpu-repro: kernels cannot run: unknown GPU model voodoo: the emulator has " in text and "Traceback" not in text
    )
    text = run(f"{BEGIN} TELL({LAUNCH});", GPU_REPRO_CHECK="everything")
    assert "gpu-repro: kernels cannot run: unknown check `everything`" in text
