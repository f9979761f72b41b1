"""The programs in the documentation do what the pages say: they are collected, judged and accepted as a reader would."""

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
    return subprocess.run([sys.executable, "-m", "pytest", "repros", "-q", "-p", "no:cacheprovider", *arguments],
                          cwd=folder, capture_output=True, text=True, timeout=300, env=_environment())


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


def test_links_between_pages_hold():
    for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
