"""The emulator's C++ is laid out and linted; each look finds what it looks for."""

import pytest

from tests.emulator import lint_cpp

FILE = """// Of a test.
extern "C" int first(const int *values, int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += values[i];
  return total;
}
"""


@pytest.fixture
def file(tmp_path):
    for name in (".clang-format", ".clang-tidy"):
        (tmp_path / name).write_bytes((lint_cpp.build.HERE / name).read_bytes())
    (tmp_path / "some.cc").write_text(FILE)
    return tmp_path / "some.cc"


def test_files_are_laid_out():
    assert lint_cpp.layout(lint_cpp.sources()) == ""


def test_files_are_linted(needs):
    needs("cc", "gcc libc6-dev")  # and its headers
    assert lint_cpp.lint(lint_cpp.linted(lint_cpp.sources()), analyzer=False) == ""


@pytest.mark.slow
def test_files_are_analyzed(needs):
    needs("cc", "gcc libc6-dev")
    assert lint_cpp.lint(lint_cpp.linted(lint_cpp.sources())) == ""


def test_a_file_with_another_layout_is_reported_and_can_be_fixed(file):
    assert lint_cpp.layout([file]) == ""
    file.write_text(FILE.replace("  int total", "  int  total"))
    assert f"{file}:3:6: error: code should be clang-formatted" in lint_cpp.layout([file])
    assert lint_cpp.layout([file], fix=True) == ""
    assert file.read_text() == FILE


def test_a_line_that_is_too_long_is_reported(file):
    file.write_text("// " + "x" * 118 + "\n")
    assert lint_cpp.layout([file]) == f"{file}:1: 121 columns, of at most 120\n"


def test_findings_of_the_checks_are_reported(file):
    assert lint_cpp.lint([file]) == ""
    file.write_text(FILE.replace("int i = 0", "short i = 0"))
    assert "[bugprone-too-small-loop-variable" in lint_cpp.lint([file], analyzer=False)


def test_the_analyzer_finds_what_the_other_checks_do_not(file):
    file.write_text(FILE.replace("int total = 0;", "int total = values ? 0 : *values;"))
    assert lint_cpp.lint([file], analyzer=False) == ""
    assert "[clang-analyzer-core.NullDereference" in lint_cpp.lint([file])


def test_a_header_is_linted_with_all_that_may_include_it():
    header = next(path for path in lint_cpp.sources() if path.suffix == ".h")
    source = next(path for path in lint_cpp.sources() if path.suffix == ".cc")
    assert lint_cpp.linted([source]) == [source]
    assert source in lint_cpp.linted([header]) and header not in lint_cpp.linted([header])
