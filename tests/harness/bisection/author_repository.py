"""A small git repository of an author: a module whose answer changes with a commit, and a claim about it."""

import os
import subprocess
from pathlib import Path

CLAIM = '''# /// script
# dependencies = ["numpy"]
# [tool.repro]
# ///
"""Doubling doubles."""
import numpy as np
from scaling import doubled
def run():
    return {"out": doubled(np.arange(4))}
def expected():
    return {"out": np.arange(4) * 2}
'''
SCRIPT = "import sys\nfrom scaling import doubled\nprint('doubled', doubled(int(sys.argv[1])))\n"
RIGHT, SAME, BROKEN, WRONG = (f"def doubled(x):\n    return {text}\n" for text in ("x * 2", "x + x", "x * ", "x * 3"))


def git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{part}": "author" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    variables = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, env=variables
    )
    return done.stdout.strip()


def make(folder: Path, texts: dict[str, str]) -> list[str]:
    """A commit for each subject with this text of the module; the hashes. The claim is committed with the first."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "pyproject.toml").write_text("")
    (folder / "claim.py").write_text(CLAIM)
    (folder / "script.py").write_text(SCRIPT)
    hashes = []
    for subject, text in texts.items():
        (folder / "scaling.py").write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", subject)
        hashes.append(git(folder, "rev-parse", "HEAD"))
    return hashes
