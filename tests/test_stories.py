"""The three stories of docs/from-bug-to-repro.md, with every command that the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs/from-bug-to-repro.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STORIES = {
    re.sub(r"\W+", "_", story.partition("\n")[0]).lower(): BLOCK.findall(story) for story in PAGE.split("\n## ")[1:]
}
CURED = {  # what undoes the bug in the reduced program
    "a_wrong_value_in_the_epilogue_of_a_gemm": (r"\bbias\[[^\]]*\]", "bias[column]"),
    "a_hang_of_a_pipeline": (r"\bif i == ", "if stage == "),
}


def commands(blocks: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Each command with the lines that it shows."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in blocks:
        for line in text.splitlines() if kind == "text" else ():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def run(command: str, folder: Path) -> str:
    """The output of a command, in the order of a terminal."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
    environment.pop("CI", None)  # the stories accept goldens
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, text=True, **both).stdout


def missing(shown: list[str], said: str) -> str | None:
    """The first shown line that does not begin a line of the output, after the line before it."""
    lines = iter(said.splitlines())
    return next((line for line in shown if not any(other.strip().startswith(line.strip()) for other in lines)), None)


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_story(name, tmp_path):
    blocks = STORIES[name]
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "story"\nversion = "1"\n')
    for kind, text in blocks:
        if kind == "python":
            file = re.match(r"# file: \w+/(\w+\.py)\n", text)
            (tmp_path / file[1]).write_text(text[file.end() :])
    for command, shown in commands(blocks):
        said = run(command, tmp_path)
        assert missing(shown, said) is None, (command, said)
    for reduced in (tmp_path / "repros").glob("*_reduced.py"):
        wrong, right = CURED[name]
        text, count = re.subn(wrong, right, reduced.read_text())
        assert count and len(text.splitlines()) < 90, text
        reduced.write_text(text)
        cured = run(f"repro run {reduced.name} --fresh", tmp_path / "repros")
        assert "differs from expected()" not in cured and "DEADLOCK" not in cured, cured


def test_each_diff_is_of_the_program_above_it():
    for blocks in STORIES.values():
        programs = "".join(text for kind, text in blocks if kind == "python")
        for kind, text in blocks:
            for line in text.splitlines() if kind == "diff" else ():
                assert line[0] in "+-" and (line[0] == "+" or line[1:] in programs.splitlines()), line
