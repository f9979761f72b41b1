"""How the emulator's C++ is built: when, by which compiler, and the error if it cannot be built.

Modules tested here: dsl/hatch_build.py.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dsl import hatch_build, native_library
from dsl.native_library import BuildError

ONE = 'extern "C" int one() { return 1; }\n'
TWO = 'extern "C" int two() { return 2; }\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An emulator of two C++ files."""
    (tmp_path / "runtime").mkdir()
    (tmp_path / "machine").mkdir()
    shutil.copy(native_library.HERE / "machine/context.py", tmp_path / "machine")
    (tmp_path / "runtime/one.cc").write_text(ONE)
    (tmp_path / "runtime/two.cc").write_text(TWO)
    monkeypatch.setattr(native_library, "HERE", tmp_path)
    monkeypatch.setattr(native_library, "BUILT", tmp_path / "built")
    return tmp_path


def built():
    (path,) = native_library.library(native_library.level())
    return path


def test_changed_files_are_built_again(folder, capsys):
    path = built()
    assert ctypes.CDLL(str(path)).two() == 2
    assert "2 files" in capsys.readouterr().err
    assert built() == path and capsys.readouterr().err == ""
    (folder / "runtime/two.cc").write_text(TWO.replace("2", "3"))
    changed = built()
    assert ctypes.CDLL(str(changed)).two() == 3
    assert "1 files" in capsys.readouterr().err
    assert changed != path and not path.exists()
    (folder / "runtime/two.cc").write_text(TWO)
    assert built() == path


def test_a_header_is_part_of_every_file(folder, capsys):
    (folder / "runtime/two.h").write_text("constexpr int TWO = 2;\n")
    (folder / "runtime/two.cc").write_text('#include "runtime/two.h"\nextern "C" int two() { return TWO; }\n')
    path = built()
    capsys.readouterr()
    (folder / "runtime/two.h").write_text("constexpr int TWO = 4;\n")
    assert ctypes.CDLL(str(built())).two() == 4 and built() != path
    assert "2 files" in capsys.readouterr().err


def test_python_and_c_agree_on_numbers_and_structures(folder):
    (folder / "runtime/one.cc").write_text(
        "#include <shared.h>\n"
        'extern "C" u32 one() { return RUNNING + 100 * BARRIERS; }\n'
        'extern "C" u64 size() { return sizeof(Context); }\n'
    )
    from dsl.emulator.machine import context

    library = ctypes.CDLL(str(built()))
    assert library.one() == context.RUNNING + 100 * context.BARRIERS
    assert library.size() == ctypes.sizeof(context.Context)


def test_an_error_names_the_file_and_quotes_the_compiler(folder):
    (folder / "runtime/two.cc").write_text("int two() { return three; }\n")
    with pytest.raises(BuildError, match=r"two\.cc does not compile:(.|\n)*undeclared identifier 'three'"):
        built()
    assert not list((folder / "built").glob("*.so"))


def test_a_function_that_is_nowhere_is_found_when_the_library_is_linked(folder):
    (folder / "runtime/two.cc").write_text("void three();\nvoid two() { three(); }\n")
    with pytest.raises(BuildError, match=r"undefined symbol: three\(\)"):
        built()


def test_processes_that_build_at_once_build_once(folder):
    program = (
        "from pathlib import Path\nfrom dsl import native_library as n\n"
        f"n.HERE = Path({str(folder)!r})\nn.BUILT = n.HERE / 'built'\nprint(*n.library(n.level()))"
    )
    argv = [sys.executable, "-c", program]
    runs = [subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [run.communicate() for run in runs]
    assert len({out for out, _ in said}) == 1 and Path(said[0][0].strip()).exists()
    assert sum("building" in err for _, err in said) == 1


def test_more_flags_give_a_separate_library(folder, monkeypatch):
    path = built()
    monkeypatch.setenv(native_library.MORE_FLAGS, "-DTWO=3 '-DMORE=2 + 2'")
    (folder / "runtime/two.cc").write_text(TWO.replace("2", "TWO + MORE"))
    other = built()
    assert ctypes.CDLL(str(other)).two() == 7 and path.exists()
    monkeypatch.setenv(native_library.MORE_FLAGS, "-DTWO=3 -DMORE=0")
    assert ctypes.CDLL(str(built())).two() == 3 and other.exists()


@pytest.mark.parametrize(
    "flags, status", [("", 0), ("-fsanitize=undefined -fsanitize-trap=all", -signal.SIGILL)], ids=["without", "with"]
)
def test_a_library_can_stop_where_the_behaviour_is_undefined(folder, monkeypatch, flags, status):
    monkeypatch.setenv(native_library.MORE_FLAGS, flags)
    (folder / "runtime/two.cc").write_text('extern "C" int two(int n) { return 1 << n; }\n')
    program = f"import ctypes\nctypes.CDLL({str(built())!r}).two(32)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == status


def test_a_library_can_have_debug_information(folder, monkeypatch):
    assert b".debug_info" not in built().read_bytes()
    monkeypatch.setenv(native_library.MORE_FLAGS, "-g -O0")
    assert b".debug_info" in built().read_bytes()


def test_without_sources_the_library_that_came_is_used(folder):
    path = built()
    for name in ("one", "two"):
        (folder / f"runtime/{name}.cc").unlink()
    assert built() == path
    path.unlink()
    with pytest.raises(BuildError, match="this installation of gpu-repro is not whole"):
        built()


def test_without_the_compiler_the_package_is_named(folder, monkeypatch):
    monkeypatch.setattr(native_library.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"fix: uv sync, or uv pip install ziglang==0\.17\.1"):
        built()


@pytest.fixture
def project(folder):
    """A project that can be installed, with one C++ file for each library."""
    package = folder / "project/dsl"
    shutil.copytree(folder / "machine", package / "emulator/machine")
    for home in ("emulator", "driver", "driver/runtime", "driver/nvrtc"):
        (package / home).mkdir(parents=True, exist_ok=True)
        (package / home / "one.cc").write_text('extern "C" [[gnu::visibility("default")]] int one() { return 1; }\n')
    for major in native_library.CUDA_MAJORS:
        (package / f"driver/runtime/libcudart.so.{major}.map").write_text("{ global: one; local: *; };\n")
    shutil.copy(native_library.__file__, package)
    return package.parent


def installed(project, version):
    """The build data that the hook gives hatchling, and the levels of the emulator's libraries that it has built."""
    data = {"force_include": {}}
    hatch_build.Hook(str(project), {}, None, None, str(project), "wheel").initialize(version, data)
    return data, [path.name.split(".")[1] for path in sorted((project / "dsl/emulator/built").glob("*.so"))]


def test_an_editable_install_builds_the_library_of_this_machine(project):
    data, levels = installed(project, "editable")
    assert levels == [native_library.level()] and not data["force_include"]
    assert (project / "dsl/driver/built/lib/libcuda.so.1").exists()


def test_a_wheel_has_the_libraries_of_all_levels(project):
    data, levels = installed(project, "standard")
    assert levels == list(native_library.LEVELS)
    names = [Path(name) for name in data["force_include"].values()]
    assert [name.name.split(".")[1] for name in names if name.parent == Path("dsl/emulator/built")] == levels
    drivers = {"libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvrtc.so.12", "libnvrtc.so.13"}
    assert drivers <= {name.name for name in names if name.is_relative_to("dsl/driver/built/lib")}
    assert all(Path(path) == project / name for path, name in data["force_include"].items())
    assert data["tag"] == "py3-none-manylinux_2_28_x86_64" and data["pure_python"] is False


def test_an_editable_install_needs_no_level_on_an_old_cpu(monkeypatch):
    def none():
        raise BuildError("the emulator needs a CPU with AVX2")

    monkeypatch.setattr(native_library, "level", none)
    assert native_library.levels_here() == () and native_library.library() == []


V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
V4 = V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def test_levels_of_x86_64():
    assert native_library.level_of(V3) == "x86_64_v3" and native_library.level_of(V4) == "x86_64_v4"
    assert native_library.level_of(V4 - {"avx512vl"}) == "x86_64_v3"
    for lacking in V3:
        with pytest.raises(BuildError, match="needs a CPU with AVX2 and FMA"):
            native_library.level_of(V4 - {lacking})


@pytest.mark.parametrize(
    "argv",
    [
        ["-m", "dsl", "{}"],
        ["-c", "from harness import cli; raise SystemExit(cli.main())", "run", "{}"],
        ["-m", "pytest", "-q", "{}"],
    ],
)
def test_a_cpu_that_is_too_old_is_one_sentence_and_status_3(tmp_path, argv):
    repro = tmp_path / "answer.py"
    repro.write_text('# /// script\n# [tool.repro]\n# ///\n"""Six is six."""\ndef run():\n    return 6\n')
    old = tmp_path / "site/sitecustomize.py"
    old.parent.mkdir()
    old.write_text("from dsl import native_library as n\ndef no(): raise n.BuildError('too old')\nn.level = no\n")
    done = subprocess.run(
        [sys.executable, *(part.format(repro) for part in argv)], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(old.parent)},
    )  # fmt: skip
    assert done.returncode == 3
    assert (done.stdout + done.stderr).count("too old") == 1 and "Traceback" not in done.stderr
