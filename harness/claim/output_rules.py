"""Keys of the file's block about outputs not simply equal to something: allowed, mask, runs, poison, silicon.

`source` is repro_file.Source, whose errors point at the key.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from harness import store
from harness.claim import bibliography
from harness.claim.rule import Rule

MOST_RUNS = 1_000_000
MODEL = "model"  # allowed: whatever the PTX memory model allows
BOUND = 16  # of its search: executions of one instruction by one thread


def implied(compare: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """The rules with those that other keys imply: what `allowed` names is compared by `set`."""
    allowed = table.get("allowed")
    names = allowed if isinstance(allowed, dict) else {}
    return {**{name: Rule("set") for name in names}, **compare}


def read(source: Any, table: dict[str, Any], tree: ast.Module) -> dict[str, Any]:
    """Read the keys, as arguments of Repro. Raises ReproError."""
    compare = implied(source.compare(table), table)
    _predicates(source, compare, tree)
    mask = _mask(source, table, compare)
    runs = _runs(source, table)
    poison = table.get("poison", False)
    if not isinstance(poison, bool):
        source.key_error("poison", "BAD_POISON", f"is {poison!r}", "write poison = true, or remove it")
    undefined = any(rule.mode == "undef" for rule in compare.values())
    rules = {"allowed": _allowed(source, table, compare), "mask": mask, "runs": runs, "poison": poison or undefined}
    rules["is_modelled"] = table.get("allowed") == MODEL
    return rules | {"silicon": silicon(source, table), "evidence": _evidence(source, table, tree)}


def _allowed(source: Any, table: dict[str, Any], compare: dict[str, Any]) -> dict[str, list[Any]]:
    allowed = table.get("allowed", {})
    fix = "write `allowed = { out = [[0, 1], [1, 0]] }`: the values that out may have, each with its shape"
    if allowed == MODEL:
        allowed = {}
        for name, rule in compare.items():
            if rule.mode == "pred":
                why = f"is compared by {rule}, but the memory model gives what is allowed"
                source.key_error(name, "BAD_ALLOWED", why, "leave out the one or the other")
    if not isinstance(allowed, dict):
        fix += '; or `allowed = "model"`: those that the PTX memory model allows'
        source.key_error("allowed", "BAD_ALLOWED", "is not a table", fix)
    for name, values in allowed.items():
        if not isinstance(values, list) or not values:
            source.key_error(name, "BAD_ALLOWED", "must be a list of at least one value", fix)
        if compare[name].mode != "set":
            source.key_error(name, "BAD_ALLOWED", f"is compared by {compare[name]}", f'write compare {name} = "set"')
    for name, rule in compare.items():
        if rule.mode == "set" and name not in allowed:
            source.key_error(name, "BAD_COMPARE", 'is compared by "set", but `allowed` does not name it', fix)
    return allowed


def _predicates(source: Any, compare: dict[str, Any], tree: ast.Module) -> None:
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, rule in compare.items():
        if rule.mode == "pred" and rule.name not in functions:
            fix = f"add `def {rule.name}({name}):` that returns a bool, or a boolean array of the same shape"
            source.key_error(name, "BAD_COMPARE", f"is judged by {rule.name}, which the file does not define", fix)


def _mask(source: Any, table: dict[str, Any], compare: dict[str, Any]) -> dict[str, str]:
    mask = table.get("mask", {})
    fix = 'write `mask = { out = "valid" }`, and return the boolean array valid from expected() or run()'
    if not isinstance(mask, dict):
        source.key_error("mask", "BAD_MASK", "is not a table", fix)
    for name, other in mask.items():
        if not isinstance(other, str) or other == name or other in mask:
            source.key_error(name, "BAD_MASK", f"has the mask {other!r}", fix)
        if name in compare and compare[name].is_free:
            source.key_error(name, "BAD_MASK", f"is compared by {compare[name]}, which takes no mask", "remove one")
    return mask


def _runs(source: Any, table: dict[str, Any]) -> int:
    runs = table.get("runs", 1)
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        source.key_error("runs", "BAD_RUNS", f"is {runs!r}", f"write how often, 1 to {MOST_RUNS}")
    return runs


def silicon(source: Any, table: dict[str, Any]) -> str:
    """The GPU whose bits the claim is about, '' for any. Raises ReproError."""
    model = table.get("silicon", "")
    if not isinstance(model, str) or not re.fullmatch(r"[a-z0-9]*", model):
        fix = 'write the GPU model in small letters and digits: silicon = "h100"'
        source.key_error("silicon", "BAD_SILICON", f"is {model!r}", fix)
    return model


def _evidence(source: Any, table: dict[str, Any], tree: ast.Module) -> str:
    """The author's evidence; goldens and records themselves name the emulator or hardware as evidence."""
    evidence = table.get("evidence", "")
    fix = 'write evidence = "published:KEY" with a key of bibliography.toml, or remove it'
    if not evidence:
        return ""
    if not isinstance(evidence, str) or not re.fullmatch(r"published:[\w.-]+", evidence):
        source.key_error("evidence", "BAD_EVIDENCE", f"is {evidence!r}", fix)
    try:
        works = bibliography.read(bibliography.find(source.path.parent, store.root_of(source.path)))
    except bibliography.BadBibliography as error:
        source.key_error("evidence", "BAD_EVIDENCE", f"cites a file that cannot be read: {error}", "correct that file")
    key = evidence.removeprefix(bibliography.PUBLISHED)
    if key not in works:
        keys = ", ".join(works) or "none"
        source.key_error("evidence", "BAD_EVIDENCE", f"cites {key}; the keys of bibliography.toml are: {keys}", fix)
    if not any(isinstance(node, ast.FunctionDef) and node.name == "expected" for node in tree.body):
        fix = "return the published values from expected()"
        source.key_error("evidence", "BAD_EVIDENCE", "cites what was published, but there is no expected()", fix)
    return evidence
