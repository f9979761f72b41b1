"""Modules of an author."""

import importlib.util
import sys
import textwrap

import pytest

from harness.capture.author import text


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of an author with this text."""
    text.forget()

    def make(source, name="authors_program"):
        file = tmp_path / f"{name}.py"
        file.write_text(textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(name, file)
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, made)
        spec.loader.exec_module(made)
        return made

    return make
