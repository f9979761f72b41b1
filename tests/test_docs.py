"""The programs in the documentation do what the pages say: they are collected,
judged and accepted as a reader would."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PROGRAM = re.compile(r"^```python\n# file: (repros/\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(page: Path) -> list[tuple[str, str]]:
    return PROGRAM.findall(page.read_text())


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "repros", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if key not in ("CI", "PYTEST_CURRENT_TEST")}


@pytest.mark.parametrize("page", [page.name for page in DOCS.glob("*.md") if programs(page)])
def test_programs_of_the_page(page, tmp_path):
    (tmp_path / "repros").mkdir()
    found = programs(DOCS / page)
    for name, text in found:
        (tmp_path / name).write_text(text)
    first = pytest_in(tmp_path)
    assert first.returncode == 1 and "no golden" in first.stdout, first.stdout + first.stderr
    accepting = pytest_in(tmp_path, "--update-goldens")
    assert accepting.returncode == 0, accepting.stdout
    again = pytest_in(tmp_path)
    assert again.returncode == 0, again.stdout
    assert int(re.search(r"(\d+) passed", again.stdout)[1]) >= len(found)


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
    run = subprocess.run(
        [sys.executable, "-m", "dsl", "--device", "emulator", "--show", "mlir", "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
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


def test_links_between_pages_hold():
    for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", re.sub(r"`[^`\n]*`", "", page.read_text())):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_leads_to_every_page():
    shown = set(re.findall(r"\]\(docs/([\w-]+\.md)\)", (DOCS.parent / "README.md").read_text()))
    assert shown == {page.name for page in DOCS.glob("*.md")}
