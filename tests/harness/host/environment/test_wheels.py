"""uv chooses here for another machine: from wheels in a folder, and from the interpreters it knows."""

import hashlib
import tarfile
import zipfile

import pytest

from harness.host.environment import wheels
from harness.host.environment.wheels import CannotBring


def wheel(folder, name: str, needs: str = ""):
    """A wheel without code: `wheel(folder, "a-1.0-py3-none-any.whl")`."""
    project, version = name.split("-")[:2]
    metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n" + (
        f"Requires-Dist: {needs}\n" if needs else ""
    )
    with zipfile.ZipFile(folder / name, "w") as file:
        file.writestr(f"{project}-{version}.dist-info/METADATA", metadata)
        tag = name.removesuffix(".whl").split("-", 2)[2]
        file.writestr(
            f"{project}-{version}.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
        )
        file.writestr(f"{project}-{version}.dist-info/RECORD", "")
    return folder / name


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of wheels, which is all that uv knows."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.mark.slow
def test_wheels_of_the_other_machine_are_chosen_with_their_needs(index):
    old = wheel(index, "one-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", "two>=2")
    wheel(index, "one-1.1-cp312-cp312-manylinux_2_36_x86_64.whl", "two>=2")  # too new a system
    wheel(index, "one-1.2-cp313-cp313-manylinux_2_28_x86_64.whl", "two>=2")
    wheel(index, "one-1.3-cp312-cp312-manylinux_2_28_aarch64.whl")
    two = wheel(index, "two-2.0-py3-none-any.whl")
    found = wheels.resolve(["one"], wheels.platform_of("x86_64", "glibc 2.35"), "3.12.4", None)
    assert [(file.name, file.bytes) for file in found] == [(path.name, path.stat().st_size) for path in (old, two)]
    assert [wheels.local_path(file.place) for file in found] == [old, two]
    with pytest.raises(CannotBring, match=r"^uv found no wheels for it:\n(.|\n)*three"):
        wheels.resolve(["three"], "x86_64-manylinux_2_35", "3.12.4", None)
    with pytest.raises(CannotBring, match='fix: name the backend, as in torch_index = "cu126"$'):
        wheels.resolve(["one"], "x86_64-manylinux_2_35", "3.12.4", "auto")


@pytest.mark.slow
def test_a_package_without_wheels_is_refused(index):
    (index / "gpu_repro_bare-1.0").mkdir()
    (index / "gpu_repro_bare-1.0/PKG-INFO").write_text("Metadata-Version: 2.1\nName: gpu-repro-bare\nVersion: 1.0\n")
    with tarfile.open(index / "gpu_repro_bare-1.0.tar.gz", "w:gz") as file:
        file.add(index / "gpu_repro_bare-1.0", "gpu_repro_bare-1.0")
    with pytest.raises(CannotBring, match=r"(?s)bare"):
        wheels.resolve(["gpu-repro-bare"], "x86_64-manylinux_2_35", "3.12.4", None)


@pytest.mark.parametrize(("libc", "name"), [("glibc 2.17", "2_17"), ("glibc 2.30", "2_28"), ("glibc 2.99", "2_40")])
def test_the_system_as_uv_names_it(libc, name):
    assert wheels.platform_of("aarch64", libc) == f"aarch64-manylinux_{name}"
    for machine, odd in (("riscv64", libc), ("x86_64", ""), ("x86_64", "glibc 2.12")):
        with pytest.raises(CannotBring, match=": there are no wheels$"):
            wheels.platform_of(machine, odd)


def test_the_interpreter_that_uv_would_install(monkeypatch):
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", "https://mirror.example/pythons/")
    file, version = wheels.interpreter(None, "==3.12.*", "x86_64")
    assert version.startswith("3.12.") and file.name.startswith(f"cpython-{version}+")
    assert file.place.startswith("https://mirror.example/pythons/2") and file.place.count("/") == 5
    with pytest.raises(
        CannotBring, match=r"^uv knows no Python ==3\.12\.\* for riscv128\nfix: name one by `python_archive`"
    ):
        wheels.interpreter(None, "==3.12.*", "riscv128")


def test_an_archive_that_was_named(tmp_path):
    assert wheels.interpreter("https://x.example/cpython-3.12.4%2B2.tar.gz", ">=3.11", "")[1] == "3.12.4"
    (tmp_path / "os.py").write_text("")
    for place, version in (("python/lib/python3.13/os.py", "3.13"), ("lib/python/os.py", "")):
        path = tmp_path / "mine.tar.gz"
        with tarfile.open(path, "w:gz") as file:
            file.add(tmp_path / "os.py", place)
        if version:
            assert wheels.interpreter(str(path), ">=3.11", "") == (wheels.File("mine.tar.gz", str(path)), version)
        else:
            with pytest.raises(CannotBring, match="it has no lib/python3.12, and its name no version"):
                wheels.interpreter(str(path), ">=3.11", "")


def test_a_file_of_this_machine(tmp_path):
    (tmp_path / "uv").write_bytes(b"12345")
    assert wheels.own_file(tmp_path / "uv", "uv") == wheels.File(
        "uv", str(tmp_path / "uv"), 5, hashlib.sha256(b"12345").hexdigest()
    )
