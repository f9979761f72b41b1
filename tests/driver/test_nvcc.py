"""nvcc's messages at the author's lines, and programs that are compiled."""

import shutil
from pathlib import Path

import pytest

from dsl.driver import nvcc

TEXT = "int main() {\n   int *x = nothing;\n}\n"


def source(text: str = TEXT, **more) -> nvcc.Source:
    return nvcc.Source(
        **{"path": "/a/x.cu", "text": text, "headers": {}, "options": [], "arch": "sm_90a"} | more, for_gpu=False
    )


def refusal(said: str) -> str:
    return str(nvcc.refusal(source(), said))


def test_an_error_of_nvcc_has_a_place_and_a_caret():
    said = '/a/x.cu(2): error: identifier "nothing" is undefined\n     int *x = nothing;\n              ^\n\n1 error\n'
    error = nvcc.refusal(source(), said)
    assert str(error).splitlines() == [
        "/a/x.cu:2:13: COMPILE_ERROR",
        "    int *x = nothing;",
        '             ^ identifier "nothing" is undefined',
    ]
    assert error.repro_outcome["outcome"] == "rejected" and error.repro_outcome["line"] == 2


def test_errors_of_the_host_compiler_and_more_errors():
    said = "/a/x.cu:2:4: error: no such thing\n/a/x.cu:3:1: error: another\n"
    assert refusal(said).startswith("/a/x.cu:2:4: COMPILE_ERROR\n") and refusal(said).endswith("(1 more error)")


def test_a_message_without_a_place_is_shown_as_it_is():
    assert (
        refusal("x.o: undefined reference to `f()'\n") == "nvcc refuses the program:\nx.o: undefined reference to `f()'"
    )


def test_a_missing_host_compiler_is_not_a_fault_of_the_program():
    error = nvcc.refusal(source(), "gcc: No such file or directory\nnvcc fatal   : Failed to preprocess")
    assert isinstance(error, nvcc.CompilerMissing) and "install the host compiler g++" in str(error)


def test_without_nvcc_the_fix_names_the_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvcc, "INSTALLED", tmp_path / "nvcc")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(nvcc.CompilerMissing, match="nvidia-cuda-nvcc"):
        nvcc.command()


def test_the_key_has_all_that_is_compiled(tmp_path):
    compiler = [shutil.which("sh")]
    keys = {
        source(**more).key(compiler)
        for more in ({}, {"text": "int"}, {"headers": {"h": ("/a/h", "1")}}, {"options": ["-G"]}, {"arch": "sm_80"})
    }
    assert len(keys) == 5


SHELL = "//$ exit 3\n"


def test_nvcc_gets_the_text_its_headers_and_the_target(nvcc_calls):
    headers = {"size.h": ("/a/size.h", "#define SIZE 1\n"), "more/kinds.h": ("/b/kinds.h", "enum kind {};\n")}
    built = nvcc.build(source(SHELL, headers=headers, options=["-O1"], arch="sm_80"))
    (call,) = nvcc_calls()
    assert call["texts"] == {
        "x.cu": f'#line 1 "/a/x.cu"\n{SHELL}',
        "size.h": '#line 1 "/a/size.h"\n#define SIZE 1\n',
        "more/kinds.h": '#line 1 "/b/kinds.h"\nenum kind {};\n',
    }
    given = call["arguments"]
    assert given[:2] == ["-cudart", "shared"] and "-lineinfo" in given and "-O1" in given
    assert given[given.index("-gencode") + 1] == "arch=compute_80,code=compute_80"
    assert built.program.endswith(b"exit 3") and built.kernels() == ["first", "second"]


def test_a_program_for_a_gpu_has_machine_code(nvcc_calls):
    nvcc.build(nvcc.Source("/a/x.cu", SHELL, {}, [], "sm_90a", True))
    given = nvcc_calls()[0]["arguments"]
    assert given[given.index("-gencode") + 1] == "arch=compute_90a,code=[compute_90a,sm_90a]"


def test_a_program_is_compiled_once_unless_other_files_are_part_of_it(nvcc_calls):
    built = nvcc.build(source(SHELL))
    assert nvcc.build(source(SHELL)) == built and len(nvcc_calls()) == 1
    nvcc.build(source(SHELL + "//$ true\n"))
    assert len(nvcc_calls()) == 2
    for count in (3, 4):
        nvcc.build(source(SHELL, options=["-I/b"]))
        assert len(nvcc_calls()) == count


def test_nvcc_runs_in_the_folder_of_the_file_if_that_is_here(nvcc_calls, tmp_path):
    nvcc.build(source(SHELL, path=str(tmp_path / "x.cu")))
    nvcc.build(source(SHELL))
    assert [call["folder"] for call in nvcc_calls()] == [str(tmp_path), str(Path.cwd())]


def test_an_error_names_the_authors_file_and_not_the_copy(nvcc_calls):
    with pytest.raises(nvcc.CompileError) as error:
        nvcc.build(source("int x;\nwrong\n"))
    assert str(error.value).splitlines() == ["/a/x.cu:2:1: COMPILE_ERROR", "    wrong", "    ^ it is wrong"]
    assert error.value.repro_outcome["file"] == "/a/x.cu"


def test_for_a_program_without_main_the_fix_is_a_file_of_kernels():
    said = refusal("/usr/bin/ld: in function `_start': undefined reference to `main'\ncollect2: error\n")
    assert said.splitlines()[0] == "/a/x.cu: NO_MAIN" and 'with source = "x.cu" in its block' in said


def test_nvcc_of_packages_links_the_runtime_of_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(nvcc, "INSTALLED", tmp_path / "nvcc")
    monkeypatch.setattr("sys.path", ["/nowhere", str(tmp_path)])
    place, library = (tmp_path / "nvidia/cu13" / name for name in ("bin/nvcc", "lib/libcudart.so.13"))
    for file in (place, library):
        file.parent.mkdir(parents=True)
        file.touch()
    assert nvcc.command() == [str(place), "-cudart", "none", f"-L{library.parent}", "-l:libcudart.so.13"]
    library.unlink()
    with pytest.raises(nvcc.CompilerMissing):
        nvcc.command()


def test_a_compiler_that_cannot_be_run_is_named(monkeypatch, tmp_path):
    (tmp_path / "nvcc").write_text("")
    monkeypatch.setattr(nvcc, "command", lambda: [str(tmp_path / "nvcc")])
    with pytest.raises(nvcc.CompilerMissing, match=r"nvcc cannot be run: Permission denied$"):
        nvcc.build(source(SHELL, options=["-I/b"]))
