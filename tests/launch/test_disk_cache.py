"""The disk cache: what is found again, what never is, and what happens to a folder that many use or nobody can."""

import os
import re
import subprocess
import sys
import textwrap
import warnings

import pytest

from dsl.core.errors import DSLWarning
from dsl.launch import disk_cache, session
from dsl.launch.call.compiling import compiler as compilation
from tests import fork_server

PROGRAM = """\
import sys
import numpy as np
import cutlass
import cutlass.cute as cute
from cutlass import Int32, Float32

SCALE = 3


def helper(x):
    return x + 1


def made(offset):
    @cute.kernel
    def kernel(a: cute.Tensor, n: Int32, more: cutlass.Constexpr = 5):
        i, _, _ = cute.arch.thread_idx()
        if i < n:
            a[i] = (helper(a[i]) * SCALE + offset + more).to(a.element_type)

    @cute.jit
    def host(a: cute.Tensor, n: Int32):
        kernel(a, n).launch(grid=(1, 1, 1), block=(32, 1, 1))
    return host


a = np.arange(8, dtype=np.float32)
made(100)(a, 8)
print(a.tolist())
"""
CHANGES = {
    "a helper function": ("return x + 1", "return x + 2"),
    "a global": ("SCALE = 3", "SCALE = 4"),
    "a closure's value": ("made(100)", "made(200)"),
    "a default argument": ("cutlass.Constexpr = 5", "cutlass.Constexpr = 6"),
    "an argument's type": ("np.float32", "np.int32"),
    "the kernel": ("i < n:", "i < n - 1:"),
    "the launch": ("block=(32, 1, 1)", "block=(4, 1, 1)"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, for this process and for those it starts."""
    made = tmp_path / "cache"
    monkeypatch.setenv("GPU_REPRO_CACHE", "1")
    monkeypatch.setenv("GPU_REPRO_CACHE_DIR", str(made))
    monkeypatch.delenv("GPU_REPRO_CACHE_MB", raising=False)
    monkeypatch.setenv("CC", "cc")  # else a compiler for Triton is put there, on a machine that has none
    return made


def entries(folder) -> set:
    return {path for path in folder.glob("*/*") if path.is_file()}


def run(file, *options: str, **variables: str) -> str:
    done = fork_server.run(["-m", "dsl", *options, str(file)], env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def program(tmp_path):
    """`program(text)` writes the program and returns its file, the same for each."""
    file = tmp_path / "program.py"

    def write(text: str = PROGRAM):
        file.write_text(textwrap.dedent(text))
        return file

    return write


@pytest.mark.slow
def test_another_process_finds_it_and_makes_changed_programs_again(folder, program):
    first = run(program(), "--device", "emulator")
    known = entries(folder)
    assert len(known) == 3  # the code, the code of the emulator, and the code that launches
    assert run(program(), "--device", "emulator") == first and entries(folder) == known
    for what, (old, new) in CHANGES.items():
        assert old in PROGRAM
        changed = program(PROGRAM.replace(old, new))
        wanted = run(changed, "--no-cache", "--device", "emulator")
        assert wanted != first, what
        assert run(changed, "--device", "emulator") == wanted, what
        assert entries(folder) > known, what
        known = entries(folder)
    assert run(program(), "--device", "emulator") == first and entries(folder) == known


@pytest.mark.slow
def test_options_and_the_gpu_are_part_of_the_key(folder, program):
    text = PROGRAM.replace("made(100)(a, 8)", "print(cute.compile(made(100), a, 8, options=sys.argv[1]).__ptx__)")
    seen = {}
    for options in ("--gpu-arch sm_80", "--gpu-arch sm_90a", "--gpu-arch sm_80 --opt-level 0"):
        file = program(text)
        done = [fork_server.run(["-m", "dsl", "--device", "emulator", str(file), options]).stdout for _ in range(2)]
        assert done[0] == done[1] and done[0].startswith("//")
        seen[options] = done[0]
    assert len(set(seen.values())) == len(seen) and "sm_80" in seen["--gpu-arch sm_80"]


@pytest.mark.slow
@pytest.mark.parametrize("off", [{"GPU_REPRO_CACHE": "0"}, {"CUTE_DSL_DISABLE_FILE_CACHING": "1"}])
def test_it_can_be_turned_off(folder, program, off):
    run(program(), "--device", "emulator", **off)
    run(program(), "--device", "emulator", "--no-cache")
    run(
        program("""\
        import cutlass.cute as cute
        @cute.jit
        def f():
            cute.printf("here")
        cute.compile(f, options="--no-cache")()
        """)
    )
    assert entries(folder) == set()


def test_it_is_in_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_CACHE", "1")
    monkeypatch.delenv("GPU_REPRO_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert disk_cache.current().folder == tmp_path / "gpu-repro"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification requires to ignore it
    monkeypatch.setenv("HOME", str(tmp_path))
    assert disk_cache.current().folder == tmp_path / ".cache" / "gpu-repro"


@pytest.fixture
def host(folder):
    """A jit function, the session it runs in, and a way to forget what this process has compiled."""
    from dsl.cutlass import Int32, cute

    @cute.jit
    def add(a: Int32, b: Int32):
        return a + b

    session.start("emulator")
    compilation._codes.clear()
    yield add
    compilation._codes.clear()
    session.stop()


def forget(function):
    """Forget everything that a new process does not know."""
    compilation._codes.clear()
    function.cached_calls._rows.clear()


def no_compiler(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("something is compiled")

    monkeypatch.setattr(compilation, "compile_modules", refuse)


def test_a_hit_compiles_nothing_and_another_version_does(host, folder, monkeypatch):
    assert host(1, 2) == 3
    forget(host)
    with monkeypatch.context() as patch:
        no_compiler(patch)
        assert host(2, 2) == 4
        forget(host)
        patch.setattr(disk_cache, "toolchain", lambda: "another version")
        with pytest.raises(AssertionError, match="something is compiled"):
            host(2, 2)


def test_the_version_has_every_stage_and_library_in_it():
    disk_cache.toolchain.cache_clear()
    first = disk_cache.toolchain()
    assert re.fullmatch("[0-9a-f]{64}", first)
    versions, libraries = disk_cache._installed("llvmlite")
    assert versions and libraries
    disk_cache.toolchain.cache_clear()
    assert disk_cache.toolchain() == first


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data + b"x",
        lambda data: b"\0" * len(data),
        lambda data: data[:20] + b"!" + data[21:],
    ],
)
def test_a_torn_or_altered_entry_is_a_miss(host, folder, spoil):
    assert host(1, 2) == 3
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(spoil(whole))
    forget(host)
    assert host(1, 5) == 6
    assert entry.read_bytes() == whole  # written again


def test_an_entry_of_another_key_is_a_miss(tmp_path):
    store = disk_cache.Cache(tmp_path)
    store.put(b"one", b"1")
    store.put(b"two", b"2")
    store.path(b"two").write_bytes(store.path(b"one").read_bytes())
    assert store.get(b"two") is None and store.get(b"one") == b"1"


def test_its_size_is_bounded_and_the_unused_go_first(tmp_path):
    store = disk_cache.Cache(tmp_path, 100_000)
    for number in range(200):
        store.put(b"%d" % number, os.urandom(4_000))
        assert store.get(b"0") is not None  # used, so it stays
        os.utime(store.path(b"0"), (2e9 + number, 2e9 + number))
        os.utime(store.path(b"%d" % number), (1e9 + number, 1e9 + number)) if number else None
    sizes = [path.stat().st_size for path in entries(tmp_path)]
    assert 50_000 < sum(sizes) <= 100_000 + 100_000 // 16
    assert store.get(b"199") is not None and store.get(b"1") is None
    store.put(b"large", bytes(200_000))  # more than there is room for
    assert store.get(b"large") is None and store.get(b"199") is not None


def test_files_of_others_in_its_folder_stay(tmp_path):
    """Also if they are old and large: GPU_REPRO_CACHE_DIR may be any folder."""
    store = disk_cache.Cache(tmp_path, 1 << 16)
    theirs = [tmp_path / name for name in ("thesis/one.tex", "ab/notes.txt", "ab/" + "c" * 61, "list.new", "cd/x.new")]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"." * (1 << 16))
        os.utime(path, (0, 0))
    for number in range(64):
        store.put(str(number).encode(), bytes(1 << 12))
    assert all(path.exists() for path in theirs)
    assert store.get(b"63") is not None and store.get(b"0") is None


def test_files_that_a_killed_writer_left_are_deleted(tmp_path):
    store = disk_cache.Cache(tmp_path)
    store.put(b"a", b"1")
    left = store.path(b"c").with_name(store.path(b"c").name + ".1.2.new")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    disk_cache.Cache(tmp_path).put(b"b", b"2")  # another process looked a moment ago
    assert left.exists()
    os.utime(tmp_path / "looked_at", (0, 0))
    disk_cache.Cache(tmp_path).put(b"b", b"2")
    assert not left.exists() and store.get(b"a") == b"1"


@pytest.mark.parametrize("obstacle", ["a file", "read-only", "full"])
def test_without_a_folder_it_works_with_one_warning(host, folder, obstacle, monkeypatch):
    disk_cache._at.cache_clear()
    disk_cache._said.clear()
    if obstacle == "a file":
        folder.write_text("")
    else:
        error = (
            OSError(30, "Read-only file system") if obstacle == "read-only" else OSError(28, "No space left on device")
        )

        def refuse(file, mode="r", *rest):
            if "x" in mode:
                raise error
            return open(file, mode, *rest)

        monkeypatch.setattr(disk_cache, "open", refuse, raising=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert host(1, 2) == 3
        forget(host)
        assert host(4, 2) == 6
    (warning,) = caught
    assert warning.category is DSLWarning
    assert re.match(r"compiled code is not cached: .*; GPU_REPRO_CACHE_DIR names another folder", str(warning.message))


STRESS = """
import os, sys
from dsl.launch.disk_cache import Cache
store = Cache(sys.argv[1], 300_000)
seed = int(sys.argv[2])
hits = 0
for turn in range(150):
    number = (turn * 7 + seed * 3) % 60
    key = b"%d" % number
    data = bytes([number]) * (2_000 + 200 * number)
    found = store.get(key)
    assert found in (None, data), number
    hits += found is not None
    store.put(key, data)
print(hits)
"""


@pytest.mark.slow
def test_many_processes_at_once(tmp_path):
    """Eight processes write, read and drop entries of one folder that is too small for them."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", STRESS, str(tmp_path), str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(8)
    ]
    done = [process.communicate(timeout=600) for process in running]
    assert all(not errors for _, errors in done), done
    assert sum(int(hits) for hits, _ in done) > 0
    assert not [path for path in entries(tmp_path) if path.name.endswith(".new")]
    store = disk_cache.Cache(tmp_path, 300_000)
    assert sum(store.get(b"%d" % number) == bytes([number]) * (2_000 + 200 * number) for number in range(60)) > 5
