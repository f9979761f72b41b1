"""`python -m dsl program.cu`: its exit status, and the options of the file's block."""

import json

import pytest

from dsl.__main__ import main
from dsl.driver import cuda_file, nvcc

BLOCK = "// /// script\n// [tool.repro]\n// {}\n// ///\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(here, *shell: str, more: str = "") -> str:
    (here / "x.cu").write_text("".join(f"//$ {line}\n" for line in shell) + more)
    return "x.cu"


@pytest.mark.parametrize(
    ("shell", "options", "status", "said"),
    [
        ("exit 0", [], 0, ""),
        ("exit 3", [], 3, ""),
        ("kill -SEGV $$", [], 139, ""),
        ("exec sleep 60", ["--timeout", "0.2"], 124, "dsl: stopped: it ran longer than --timeout allows\n"),
        ("wrong", [], 1, "x.cu:1:1: COMPILE_ERROR\n    //$ wrong\n    ^ it is wrong\n"),
    ],
)
def test_the_status_is_how_the_program_ended(here, nvcc_calls, capfd, shell, options, status, said):
    assert main([*options, written(here, shell)]) == status
    assert capfd.readouterr().err == said


def test_a_kernel_that_failed_is_seen_though_the_program_ends_well(here, nvcc_calls, capfd):
    row = json.dumps({"level": "error", "kind": "race", "text": "RACE"})
    assert main([written(here, f"echo '{row}' >> $GPU_REPRO_REPORT")]) == 1
    assert capfd.readouterr().err == "dsl: a kernel failed, and the program went on (exit status 1 for 0)\n"
    assert main([written(here, f"echo '{row}' >> $GPU_REPRO_REPORT; exit 9")]) == 9


def test_the_ptx_of_its_kernels_is_shown(here, nvcc_calls, capfd):
    assert main(["--show", "ptx", written(here, "echo first")]) == 0
    first, *ptx = capfd.readouterr().out.splitlines()
    assert first == "first" and ptx[0] == ".visible .entry first() { ret; }"


def test_arguments_and_options_come_from_the_block(here, nvcc_calls, capfd):
    block = BLOCK.format('args = ["a", "b"]\n// nvcc = ["-O1"]')
    file = written(here, 'echo "$@"', more=block + '#include "near.h"\n')
    assert main([file]) == 0 and main([file, "c"]) == 0
    assert capfd.readouterr().out == "a b\nc\n"
    assert {"-O1", f"-I{here}"} <= set(nvcc_calls()[0]["arguments"])
    main([written(here, "exit 0")])
    assert not {"-O1", f"-I{here}"} & set(nvcc_calls()[-1]["arguments"])


def test_a_block_that_is_not_toml_is_an_error_of_usage(here, nvcc_calls, capfd):
    assert main([written(here, more=BLOCK.format("args ="))]) == 2
    assert capfd.readouterr().err.startswith("dsl: the block of x.cu is not TOML: ") and not nvcc_calls()


def test_without_nvcc_the_status_is_2(here, capfd, monkeypatch):
    monkeypatch.setattr(nvcc, "_packages", lambda: iter(()))
    monkeypatch.setattr(nvcc, "INSTALLED", here / "nvcc")
    monkeypatch.setenv("PATH", str(here))
    assert main([written(here)]) == 2
    assert capfd.readouterr().err.startswith(
        "dsl: nvcc is not on this machine, and main() of a .cu file needs it\nfix: "
    )


def test_kernels_of_a_python_file_are_compiled_with_its_options(here, monkeypatch):
    (here / "kernels.cu").write_text("text")
    asked = []
    monkeypatch.setattr(cuda_file.device_code, "ptx", lambda source: asked.append(source) or "ptx")
    assert cuda_file.kernels("x.py", "kernels.cu", {"nvcc": ["-O1"]}, "sm_80") == "ptx"
    (source,) = asked
    assert source == nvcc.Source(str(here / "kernels.cu"), "text", {}, ["-O1", f"-I{here}"], "sm_80", False)


def test_kernels_without_a_compiler_end_the_run(here, monkeypatch):
    def missing(source):
        raise nvcc.CompilerMissing("there is none")

    (here / "kernels.cu").write_text("text")
    monkeypatch.setattr(cuda_file.device_code, "ptx", missing)
    with pytest.raises(SystemExit, match="^dsl: there is none$"):
        cuda_file.kernels("x.py", "kernels.cu", {}, "sm_80")
