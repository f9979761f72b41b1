"""The programs in the documentation do what the pages show: they are collected,
judged and accepted as by a reader."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.claim import languages
from tests import fork_server

DOCS = Path(__file__).parents[1] / "docs"
PROGRAM = re.compile(r"^```python\n# file: (repros/\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(page: Path) -> list[tuple[str, str]]:
    return PROGRAM.findall(page.read_text())


PAGES = {page.name: found for page in sorted(DOCS.glob("*.md")) if (found := programs(page))}
OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) (repros/\w+\.py)", re.MULTILINE)


def run_here() -> set[str]:
    """The names of the programs of all pages that this machine can run."""
    every = (program for found in PAGES.values() for program in found)
    return {
        name for name, text in every if not languages.shortfall(Path(name), re.findall(r"^import (\w+)", text, re.M))
    }


def pytest_of(folder: Path, *options: str) -> str:
    """The output of pytest for the programs of all pages."""
    command = [sys.executable, "-m", "pytest", "repros", "-q", "-rA", "-p", "no:cacheprovider", *options]
    env = {key: value for key, value in os.environ.items() if key not in ("CI", "PYTEST_CURRENT_TEST")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """With the programs of all pages."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "repros").mkdir()
    for name, text in (program for found in PAGES.values() for program in found):
        assert not (folder / name).exists(), f"two pages have a {name}"
        (folder / name).write_text(text)
    return folder


def test_programs_of_the_pages(folder):
    files = run_here()
    accepting = pytest_of(folder, "--update-goldens")
    assert set(OUTCOME.findall(accepting)) == {("PASSED", name) for name in files}, accepting


@pytest.mark.slow
def test_programs_of_the_pages_before_and_after_they_are_accepted(folder):
    shutil.rmtree(folder / "repros/goldens", ignore_errors=True)
    files = run_here()
    first, accepting, again = (pytest_of(folder, *options) for options in ([], ["--update-goldens"], []))
    waiting = {name for name in files if f"{name} agrees with expected(), not accepted yet" in first}
    assert set(OUTCOME.findall(first)) == {("PASSED" if name in waiting else "FAILED", name) for name in files}, first
    for text in (accepting, again):
        assert set(OUTCOME.findall(text)) == {("PASSED", name) for name in files}, text


# --- pages of examples: a `# start.py` block, then `# example.py` blocks,
# each followed by what it prints and becomes ---

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES_OF_EXAMPLES = [page.name for page in DOCS.glob("*.md") if "\n# start.py\n" in page.read_text()]


def examples(page: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(its name and first line, text, [(kind, block shown under it)]) of each example."""
    found: list = []
    for kind, text in BLOCK.findall((DOCS / page).read_text()):
        if kind == "python" and text.startswith("# example.py\n"):
            name = re.search(r"^def (\w+)|^(\w+) =", text, re.MULTILINE)
            found.append((name[1] or name[2], text, []))
        elif kind in ("text", "mlir") and found:
            found[-1][2].append((kind, text))
    return found


EXAMPLES = [
    pytest.param(page, text, shown, id=f"{page}-{name}")
    for page in PAGES_OF_EXAMPLES
    for name, text, shown in examples(page)
]


@pytest.mark.parametrize("page, text, shown", EXAMPLES)
def test_an_example_prints_and_becomes_what_is_shown(page, text, shown, tmp_path):
    start = next(block for kind, block in BLOCK.findall((DOCS / page).read_text()) if block.startswith("# start.py\n"))
    (tmp_path / "start.py").write_text(start)
    (tmp_path / "example.py").write_text(text.replace("# example.py", "from start import *", 1))
    run = fork_server.run(["-m", "dsl", "--device", "emulator", "--show", "mlir", "example.py"], cwd=tmp_path)
    assert shown, "an example without its output"
    for kind, block in shown:
        if kind == "text":
            assert block in run.stdout + run.stderr, run.stdout + run.stderr
        else:
            assert missing_line(block, run.stdout) is None, run.stdout


def missing_line(block: str, output: str) -> str | None:
    """The first line of `block` that does not follow in `output`; values' names and locations do not count."""
    lines = iter([_nameless(line) for line in output.splitlines()])
    for line in block.splitlines():
        if line.strip() != "…" and not any(found.startswith(_nameless(line)) for found in lines):
            return line
    return None


def _nameless(line: str) -> str:
    return re.sub(r"%[\w#:]+", "%", re.sub(r" loc\(.*", "", line)).strip()


# --- the page of steps: programs, diffs that break them, and what is printed under a command line ---

QUICK = ("gemm_5.py", "gemm_4.py broken")  # the others are slow


def runs(page: str) -> Iterator[tuple[str, str, list[str], str]]:
    """(id, program, arguments of `python -m dsl`, what it prints) of each command line; a diff changes the program above."""
    program = name = ""
    for kind, text in BLOCK.findall((DOCS / page).read_text()):
        if kind == "python":
            name, program = re.match(r"# file: (\w+\.py)\n", text)[1], text.split("\n", 1)[1]
        elif kind == "diff":
            name, program = f"{name} broken", patched(program, text)
        else:
            command, shown = text.split("\n", 1)
            assert command.startswith("$ python -m dsl ")
            yield name, program, command.split()[4:], shown


def patched(program: str, diff: str) -> str:
    before, after = ("".join(line[1:] + "\n" for line in diff.splitlines() if line[0] in " " + sign) for sign in "-+")
    assert program.count(before) == 1, before
    return program.replace(before, after)


STEPS = [
    pytest.param(compiler, *run, id=f"{compiler}-{name}-{len(run[1])}", marks=marks)
    for compiler in ("ours", "nvidia")
    for name, *run in runs("hopper-gemm.md")
    for marks in [() if compiler == "ours" and name in QUICK else pytest.mark.slow]
]


@pytest.mark.parametrize("compiler, program, arguments, shown", STEPS)
def test_a_step_prints_what_is_shown(compiler, program, arguments, shown, tmp_path):
    (tmp_path / arguments[-1]).write_text(program)
    done = fork_server.run(["-m", "dsl", "--device", "emulator", "--compiler", compiler, *arguments], cwd=tmp_path)
    output = iter((done.stdout + done.stderr).splitlines())
    lines = shown.splitlines()
    if compiler == "nvidia" and len(lines) > 1:  # a report: of the same kind, at places that it chooses
        lines = ["…: " + lines[0].rsplit(": ", 1)[1]]
    for line in lines:
        pattern = ".*".join(map(re.escape, line.split("…")))
        assert any(re.fullmatch(pattern, found) for found in output), (line, done.stdout + done.stderr)


# --- the nightly recipe ---


def file_of(page: str, name: str) -> str:
    """The block that names this file."""
    blocks = [text for _, text in BLOCK.findall((DOCS / page).read_text()) if f"# file: {name}\n" in text]
    assert len(blocks) == 1, name
    return blocks[0]


CLAIM = """# /// script
# dependencies = ["numpy"]
# [tool.repro]
# ///
\"\"\"It is so.\"\"\"
import numpy as np
def run():
    return {"out": np.int32(VALUE)}
"""


@pytest.fixture
def nightly(tmp_path):
    """`nightly("embedded")`: what the recipe's script ends with and prints, in a project with one accepted claim."""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'kestrel'\n")
    (tmp_path / "repros").mkdir()
    (tmp_path / "bin").mkdir()
    # `uv run` in an environment that exists already
    (tmp_path / "bin/uv").write_text(f'#!/bin/sh\nshift\nexec {Path(sys.executable).parent}/"$@"\n')
    (tmp_path / "nightly.sh").write_text(file_of("continuous.md", "nightly.sh"))
    for name in ("bin/uv", "nightly.sh"):
        (tmp_path / name).chmod(0o755)
    env = {key: value for key, value in os.environ.items() if key not in ("CI", "PYTEST_CURRENT_TEST")}
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"

    def nightly(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [tmp_path / "nightly.sh", *arguments], env=env, capture_output=True, text=True, timeout=600
        )
        return done.returncode, done.stdout + done.stderr

    return nightly


@pytest.mark.slow
def test_a_night_fails_on_regressions_only(nightly, tmp_path):
    claim = tmp_path / "repros/answer.py"
    claim.write_text(CLAIM.replace("VALUE", "42"))
    assert nightly("embedded", "--update-goldens")[0] == 0
    assert "<title>kestrel</title>" in (tmp_path / "public/index.html").read_text()
    (tmp_path / "repros/never.py").write_text(
        CLAIM.replace("VALUE", "42") + "def expected():\n    return {'out': np.int32(1)}\n"
    )
    status, text = nightly()
    assert status == 0 and "1 failed, 1 passed" in text and text.endswith("no regression\n"), text
    claim.write_text(CLAIM.replace("VALUE", "43"))
    status, text = nightly("embedded")
    assert status == 1 and "regressed: answer on any ours embedded\n" in text and "look: repro record diff " in text, (
        text
    )


@pytest.mark.slow
def test_a_night_in_which_nothing_ran_fails(nightly, tmp_path):
    assert nightly("nowhere")[0] == 4  # no such host
    (tmp_path / "repros/answer.py").write_text(
        CLAIM.replace('"numpy"', '"numpy", "no-such-package-at-all"').replace("VALUE", "no")
    )
    assert nightly("embedded", "-k", "nothing")[0] == 5  # no case


def test_scripts_of_the_nightly_recipe_can_be_read(tmp_path):
    for name in ("nightly.sh", "nightly.sbatch"):
        text = file_of("continuous.md", name)
        assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).stderr == ""
        assert "./nightly.sh local" in text or "repro record regressions" in text
    workflow = file_of("continuous.md", ".github/workflows/nightly.yml")
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(workflow)["jobs"]["repros"]["steps"]
    assert [step["run"] for step in steps if "run" in step][:2] == ["uv sync --locked", "./nightly.sh local"]


def test_records_of_a_night_are_pushed_though_others_pushed_meanwhile(tmp_path):
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(file_of("continuous.md", ".github/workflows/nightly.yml"))["jobs"]["repros"]["steps"]
    (step,) = [step["run"] for step in steps if step.get("name") == "keep the records"]
    env = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments, at="."):
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        argv = ["git", *who, *arguments]
        return subprocess.run(argv, cwd=tmp_path / at, check=True, capture_output=True, text=True, env=env).stdout

    git("init", "-q", "--bare", "-b", "main", "all.git")
    for name in ("person", "runner"):
        if name == "runner":
            git("clone", "-q", "--depth", "1", f"file://{tmp_path}/all.git", name)
            (tmp_path / "runner/repros/record.jsonl").write_text("{}\n")
            (tmp_path / "runner/uv.lock").write_text("changed by the run\n")
        else:
            git("clone", "-q", "all.git", name)
            (tmp_path / "person/repros").mkdir()
        (tmp_path / "person/repros" / f"{name}.py").touch()
        (tmp_path / "person/uv.lock").touch()
        git("add", "--all", at="person")
        git("commit", "-q", "-m", name, at="person")
        git("push", "-q", "origin", "HEAD:main", at="person")
    subprocess.run(["bash", "-e", "-c", step], cwd=tmp_path / "runner", check=True, capture_output=True, env=env)
    files = git("ls-tree", "-r", "--name-only", "main", at="all.git").split()
    assert files == ["repros/person.py", "repros/record.jsonl", "repros/runner.py", "uv.lock"]
    assert (tmp_path / "runner/uv.lock").read_text() == "changed by the run\n"


def test_links_between_pages_hold():
    root = DOCS.parent
    pages = [*DOCS.rglob("*.md"), *root.glob("*.md"), *(root / "benchmarks").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", re.sub(r"`[^`\n]*`", "", page.read_text())):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_numbers_of_the_readme_are_the_numbers_of_the_files():
    table = runpy.run_path(str(DOCS.parent / "benchmarks/readme_table.py"))
    for name, short in table["PAGES"].items():
        text = (DOCS.parent / name).read_text()
        assert len(table["MARK"].findall(text)) == 1
        assert text == table["page"](text, short), "python benchmarks/readme_table.py writes it"


def test_the_readme_the_index_and_the_site_begin_with_one_path():
    """The same pages in the same order, under the same names."""
    start = re.findall(r"^\d\. \[(.*)\]\((?:docs/)?([\w-]+\.md)\)", (DOCS / "index.md").read_text(), re.M)
    assert len(start) >= 5
    assert start == re.findall(r"^\d\. \[(.*)\]\(docs/([\w-]+\.md)\)", (DOCS.parent / "README.md").read_text(), re.M)
    site = (DOCS.parent / "mkdocs.yml").read_text().partition("- Start here:\n")[2].partition("\n  - ")[0]
    assert start == re.findall(r"- (.*): ([\w-]+\.md)", site)


def test_the_index_and_the_site_lead_to_every_page():
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text())) == pages - {"index.md"}
    assert set(re.findall(r"- (?:[\w ]+: )?([\w/-]+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(), re.M)) == pages


# --- pages that a reader types along: files, diffs that change them, and command lines with what they print ---

TYPED = ["five-minutes.md", "when-it-fails.md"]


@pytest.mark.parametrize("page", TYPED)
def test_a_page_that_is_typed_along_prints_what_is_shown(page, tmp_path, monkeypatch):
    """A line that is left out of a page is left out between two that are shown; `…` is the rest of a line."""
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent))
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    code, commands = "import sys; from harness.cli import main; sys.exit(main())", 0
    for kind, text in BLOCK.findall((DOCS / page).read_text()):
        if kind == "python":
            path = tmp_path / re.match(r"# file: (\S+)\n", text)[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.split("\n", 1)[1])
        elif kind == "diff":
            (path,) = (tmp_path / "repros").glob("*.py")
            path.write_text(patched(path.read_text(), text))
        elif kind == "text":
            command, shown = text.split("\n", 1)
            argv = [sys.executable, "-c", code, *command.removeprefix("$ uv run repro ").split()]
            done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=600)
            output, commands = iter(done.stdout.splitlines()), commands + 1
            for line in shown.splitlines():
                pattern = ".*".join(map(re.escape, line.split("…")))
                assert any(re.fullmatch(pattern, found) for found in output), (line, done.stdout + done.stderr)
    assert commands >= 3


# --- the page of scripts: command lines, and what they print ---


def test_commands_of_the_page_of_scripts_print_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent))
    repro = f'{sys.executable} -c "import sys; from harness.cli import main; sys.exit(main())"'
    (tmp_path / "widths.py").write_text(file_of("scripts.md", "widths.py"))
    shown = [
        text.removeprefix("$ ") for kind, text in BLOCK.findall((DOCS / "scripts.md").read_text()) if kind == "text"
    ]
    assert len(shown) == 3
    for text in shown:
        end = text.index("\nPY\n") + 4 if "<<'PY'" in text else text.index("\n") + 1
        command = ["bash", "-c", text[:end].replace("uv run repro", repro)]
        done = subprocess.run(
            command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
        assert done.stdout == text[end:], done.stderr
