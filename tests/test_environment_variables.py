"""The environment variables that the sources read: their names of today and of 0.1, and the page that lists them."""

import ast
import os
import re
from pathlib import Path

import pytest

from dsl import environment_variables as variables
from dsl.launch import disk_cache
from harness.host import hosts

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/environment-variables.md"
OWN = [value for name, value in vars(variables).items() if name.isupper()]

# The variables that a file reads by a name that is not a constant.
READ_BY_LIST = {
    "dsl/environment_variables.py": OWN,
    "dsl/launch/nvidia/hook.py": [],  # saves what it sets
    "dsl/launch/tilelang_programs.py": [],  # saves what it sets
    "dsl/launch/triton_variables.py": ["CC"],  # and saves what it sets
    "harness/host/connection/ssh.py": [],  # whatever ssh_config names
    "harness/host/environment/fetch.py": ["UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL",
                                          "UV_PYTHON_INSTALL_MIRROR"],
    "harness/issue/anonymous.py": ["USER", "LOGNAME", "SUDO_USER"],
}  # fmt: skip
ONLY_SET = {"GPU_REPRO_LANE"}  # and read from /proc


def listed() -> list[str]:
    """The names in the first column of the page's tables."""
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([A-Z_]+\*?)`", row)]


def read() -> set[str]:
    """The names that the sources read from the environment; `NAME_*` for a family."""
    trees = {path: ast.parse(path.read_text()) for top in ("dsl", "harness") for path in (ROOT / top).rglob("*.py")}
    constants = {name: value for tree in trees.values() for name, value in _constants(tree)}
    found = set()
    for path, tree in trees.items():
        own = dict(_constants(tree))
        for node in ast.walk(tree):
            name = _name(node)
            if name is None:
                continue
            if isinstance(name, ast.Constant):
                found.add(name.value)
            elif isinstance(name, ast.JoinedStr):
                found.add(f"{name.values[0].value}*")
            elif (word := ast.unparse(name).rpartition(".")[2]) in own:
                found.add(own[word])
            elif word.isupper():
                found.add(constants[word])
            else:
                found |= {*READ_BY_LIST[str(path.relative_to(ROOT))]}
    return {"GITHUB_*" if name.startswith("GITHUB_") else name for name in found}


def _constants(tree: ast.Module) -> list[tuple[str, str]]:
    """(name, text) of each constant of a module: `A = "a"`, `A, B = "a", "b"`."""
    rows = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            rows += [*zip(target.elts, value.elts)] if several else [(target, value)]
    return [(ast.unparse(one), value.value) for one, value in rows if isinstance(value, ast.Constant)]


def _name(node: ast.AST) -> ast.expr | None:
    """The name of a variable that an expression reads from the environment."""
    is_environ = lambda one: ast.unparse(one) in ("os.environ", "environ")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_read = is_environ(node.func.value) and node.func.attr in ("get", "pop", "setdefault")
        return node.args[0] if is_read or ast.unparse(node.func) in ("os.getenv", "variables.value") else None
    if isinstance(node, ast.Subscript) and is_environ(node.value):
        return node.slice
    return node.left if isinstance(node, ast.Compare) and any(map(is_environ, node.comparators)) else None


def test_the_page_lists_what_the_sources_read():
    names = listed()
    assert len(names) == len(set(names))
    former = {variables.former(name) for name in OWN} - {""}
    assert set(names) == (read() | ONLY_SET) - former
    assert former == set(re.findall(r"`(DSL_[A-Z_]+)`", PAGE.read_text()))


@pytest.mark.parametrize("name", [*filter(variables.former, OWN)])
def test_a_name_of_before_works_where_the_name_of_today_is_unset(monkeypatch, name):
    monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv(variables.former(name), raising=False)
    assert variables.value(name) == "" and variables.value(name, "x") == "x"
    monkeypatch.setenv(variables.former(name), "old")
    assert variables.value(name, "x") == "old"
    monkeypatch.setenv(name, "")
    assert variables.value(name) == "old"
    monkeypatch.setenv(name, "new")
    assert variables.value(name) == "new"


def test_both_sides_read_the_names_of_before(monkeypatch):
    for name in OWN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DSL_CACHE", "0")
    assert not disk_cache.wanted()
    monkeypatch.setenv("GPU_REPRO_CACHE", "1")
    assert disk_cache.wanted() == (os.environ.get("CUTE_DSL_DISABLE_FILE_CACHING", "0") in ("", "0"))
    monkeypatch.setenv("DSL_GPU_MODEL", "a100")
    assert hosts.resolve("embedded").gpu_model == "a100"
    monkeypatch.setenv("GPU_REPRO_GPU_MODEL", "l40s")
    assert hosts.resolve("embedded").gpu_model == "l40s"
