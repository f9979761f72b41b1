"""An empty project outside of CI, for commands that run in the working folder."""

import pytest


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path
