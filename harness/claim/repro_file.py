"""A repro file, read as text: its claim, its block (`[tool.repro]`), its CHECK lines, and how `run` is called.

Nothing here imports the file, a compiler or numpy; reading one repro costs about a millisecond.

    # /// script
    # [tool.repro]
    # arch = "sm_80"                  the least GPU that has the feature
    # params = { width = [8, 16] }    one case for each combination of values, passed to run() and expected()
    # compare = { out = "ulp:2" }     per output: bits (the default) | ulp:N | rel:R | abs:A | close:R,A | set |
    #                                 pred:NAME | undef
    # allowed = { out = [[0, 1]] }    the values that an output compared by `set` may have, each as nested lists;
    # allowed = "model"               those that the PTX memory model allows, of all outputs: a golden keeps them
    # mask = { out = "valid" }        compare only elements of out for which the boolean array `valid` is true
    # runs = 1000                     call run() that often, and keep how often each outcome was seen
    # poison = true                   run it twice over different contents of new memory: what differs was not written
    # outcome = "rejected"            the claim is an outcome without arrays: rejected | trap | deadlock, or what a
    #                                 checker finds: out_of_bounds | misaligned | race ... (findings.py); fault: any
    # nvidia = { rejected = "ID" }    NVIDIA's compiler refuses the program; or { "<4.7" = { ... } }: expectation.py
    # silicon = "h100"                the bits belong to this GPU: on other GPUs the case is skipped
    # evidence = "published:KEY"      expected() has values that were published; bibliography.toml has the KEY
    # timeout = 20                    seconds for one case (default 60)
    # filters, exit, args             of a file without run(), a claim about what it prints: printed_claim.py
    # nvcc = ["-std=c++20"]           of a .cu file: options for nvcc
    # source = "kernels.cu"           of a Python file: kernels in CUDA C++, whose PTX is the argument `ptx` of run()
    # ///
    # CHECK-PTX: cp.async.ca                     a FileCheck line matched against the PTX of every kernel of the case
    # CHECK-PTX(relu=False)-NOT: max.f32         the same, only in cases whose parameter has that value
    # CHECK-SASS: LDGSTS{{.*}}ZFILL              matched against SASS, where ptxas and nvdisasm are installed
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from harness.claim import (
    cuda_headers,
    expectation,
    findings,
    languages,
    output_rules,
    printed_claim,
    ptx_file,
    silenced,
)
from harness.claim.expectation import Expectations
from harness.claim.printed_claim import Printed
from harness.claim.rule import Rule

KNOWN_KEYS = {
    "allowed": 'values that an output compared by "set" may have: { out = [[0, 1], [1, 0]] }',
    "arch": 'the least GPU that has the feature, e.g. "sm_80"',
    "args": 'of a file without run(): the arguments of the program: ["--width", "8"]',
    "compare": 'a table of output name to rule: { out = "bits" | "ulp:N" | "rel:R" | "abs:A" | "close:R,A" | "set" | '
    '"pred:NAME" | "undef" }',
    "evidence": 'where the values of expected() were published: "published:KEY", a KEY of bibliography.toml',
    "exit": "of a file without run(): the exit status of the program (default 0)",
    "filters": 'of a file without run(): what of its output is not compared: ["address", "time", "path"]',
    "mask": 'a table of output name to the boolean array that selects its elements: { out = "valid" }',
    "nvidia": (
        'where NVIDIA\'s compiler ends otherwise: { rejected = "its id" }, { outputs = { out = [1, 2] } } or '
        '{ xfail = "why" }; of some releases: { "<4.7" = { rejected = "its id" } }'
    ),
    "outcome": (
        'the outcome of the claim: "outputs" (the default) | "rejected" | "trap" | '
        '"deadlock" | "fault", or a fault by its name, as in "misaligned"'
    ),
    "params": "a table of parameter name to list of values: { width = [8, 16, 32] }",
    "poison": "true: run it twice over different contents of new memory, to see what was not written",
    "runs": "how often run() is called; each outcome is counted",
    "silicon": 'the GPU whose bits the claim is about, where others may give others: "h100"',
    "timeout": "seconds one case may run (default 60)",
}
LANGUAGE_KEYS = {  # of files in one language
    languages.PYTHON: {"source": 'the CUDA C++ of its kernels: source = "kernels.cu", and run(ptx) gets their PTX'},
    languages.CUDA: {"nvcc": 'options for nvcc: ["-std=c++20"]'},
    languages.PTX: {ptx_file.KEY: ptx_file.MEANING},
}
PROJECT_KEYS = ("hosts", "pools")  # of [tool.repro] in pyproject.toml: host/settings.py
OUTCOMES = ("outputs", "rejected", "trap", "deadlock", findings.FAULT, *findings.MEANINGS)
DEFAULT_TIMEOUT_S = 60.0
DEFAULT_GPU_MODEL = "h100"  # that the emulator is by default
MODELS_BY_ARCH = {"sm_100": "b200", "sm_103": "b300", "sm_120": "rtx5090"}  # for repros that need more than that
WARM_MODULES = ("torch", "cuda", "numba", "cutlass", "quadrants", "tvm", "tvm_tirx")
DIRECTIVES = "NOT NEXT SAME DAG LABEL EMPTY COUNT-N"

_CHECK_LIKE = re.compile(r"\s*(?:#|//|/\*+)\s*CHECK(?![A-Za-z0-9_])")
_CHECK_INSIDE = re.compile(r"\s*\*?\s*CHECK(?![A-Za-z0-9_])")  # in a comment of several lines
_CHECK = re.compile(
    r"\s*(?:#|//|/?\*+)?\s*CHECK-(?P<target>PTX|SASS)(?:\((?P<when>[^()]*)\))?"
    r"(?:-(?P<directive>NOT|NEXT|SAME|DAG|LABEL|EMPTY|COUNT-\d+))?(?P<literal>\{LITERAL\})?:(?P<pattern>.*)"
)
_RULE = re.compile(
    r"bits|undef|set|pred:(?P<pred>[A-Za-z_]\w*)|ulp:(?P<ulp>\d{1,9})"
    r"|(rel:(?P<rel>{0})|abs:(?P<abs>{0})|close:(?P<close>{0}),\s*(?P<to>{0}))".replace(
        "{0}", r"[0-9][0-9.eE+-]*|\.[0-9.eE+-]+"
    )
)
_ARCH = re.compile(r"sm_\d{2,3}[af]?")
_LABEL = re.compile(r"[A-Za-z0-9_.+-]{1,100}")
MOST_CASES = 10_000

Value = bool | int | float | str


class ReproError(Exception):
    """The file cannot be a repro; the text shows the line, the caret and the fix."""


@dataclass(frozen=True, slots=True)
class Check:
    """One CHECK line. `when` maps parameter names to the labels for which it holds."""

    target: str
    directive: str
    pattern: str
    line: int
    when: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Script:
    """That a file is run as `python FILE ARGS` runs it."""

    args: tuple[str, ...] = ()
    printed: Printed | None = None  # what it claims to print; None: it claims nothing
    options: tuple[str, ...] = ()  # for nvcc, of a .cu file


@dataclass(frozen=True)
class Repro:
    """One file that makes one claim."""

    path: Path
    text: str
    claim: str
    arch: str | None
    params: Mapping[str, tuple[Value, ...]]
    compare: Mapping[str, Rule]
    outcome: str
    timeout_s: float
    checks: tuple[Check, ...]
    has_expected: bool
    imports: frozenset[str]  # the top modules that the file imports anywhere
    needs: tuple[str, ...] = ()
    requires_python: str = ">=3.11"
    nvidia: Expectations = field(default_factory=Expectations)
    allowed: Mapping[str, list[Any]] = field(default_factory=dict)
    is_modelled: bool = False  # whether the PTX memory model gives what is allowed
    mask: Mapping[str, str] = field(default_factory=dict)
    runs: int = 1
    poison: bool = False
    silicon: str = ""
    evidence: str = ""
    silenced: tuple[tuple[int, str], ...] = ()  # lines whose races are allowed, with the reason
    script: Script | None = None
    launch: Mapping[str, Any] | None = None  # of a .ptx file
    kernels: cuda_headers.Kernels | None = None  # of a Python file with `source`

    @property
    def varies(self) -> bool:
        """Whether the claim is about outputs that are not the same each time, or that nobody writes."""
        return (
            self.runs > 1
            or self.poison
            or self.is_modelled
            or any(rule.mode == "set" for rule in self.compare.values())
        )

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256((self.text + (f"\0{self.kernels.text}" if self.kernels else "")).encode()).hexdigest()

    @cached_property
    def warm(self) -> tuple[str, ...]:
        """The heavy modules that the text mentions, worth importing before a fork; some only if it imports them."""
        mentions = {
            name for name in WARM_MODULES if name not in ("cuda", "numba") and re.search(rf"\b{name}\b", self.text)
        }
        others = {"tvm"} if "tilelang" in self.imports else set()
        return tuple(name for name in WARM_MODULES if name in (mentions | self.imports) - others)

    @property
    def is_alone(self) -> bool:
        """Whether it runs in a new process: Numba wants another libcuda.so.1, and TileLang another tvm."""
        return not self.imports.isdisjoint(("numba", "tilelang"))

    def cases(self) -> Iterator[Case]:
        """Every combination of parameter values, in the order written."""
        for values in self.combinations(self.params):
            yield Case(self, values)

    @staticmethod
    def combinations(params: Mapping[str, tuple[Value, ...]]) -> Iterator[dict[str, Value]]:
        """One value of each parameter, in every way."""
        for values in itertools.product(*params.values()):
            yield dict(zip(params, values, strict=True))


@dataclass(frozen=True)
class Case:
    """A repro with one value for each parameter."""

    repro: Repro
    params: Mapping[str, Value]

    @property
    def name(self) -> str:
        """`width=8,op=max`, or '' where there are no parameters."""
        return ",".join(f"{key}={label(value)}" for key, value in self.params.items())

    @property
    def is_declared(self) -> bool:
        """Whether `params` lists every one of these values."""
        return all(value in self.repro.params[name] for name, value in self.params.items())

    def checks(self, target: str) -> list[Check]:
        """The CHECK lines for `target` (PTX or SASS) that hold for these parameters."""
        mine = {key: label(value) for key, value in self.params.items()}
        return [c for c in self.repro.checks if c.target == target and all(mine[k] == v for k, v in c.when)]


def label(value: Value) -> str:
    """How a parameter value is written in item ids, golden names and CHECK conditions."""
    return str(value)


def is_repro(data: bytes) -> bool:
    """Whether the file's bytes open a `# /// script` block with a `[tool.repro]` table; cheap enough for any file."""
    if b"tool.repro" not in data or b"/// script" not in data:
        return False
    block = languages.block(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    return block is not None and any("tool.repro" in row for row in block.rows)


def read(path: Path) -> Repro:
    """Read a repro. Raises ReproError with the line, a caret and the fix; OSError."""
    file = source(path, path.read_bytes())
    if path.suffix == languages.CUDA:
        about = printed_claim.read(file, file.table(), languages.claim(file))
        script = Script(about.pop("args"), about.pop("printed"), about.pop("options"))
        return Repro(path=path, text=file.text, imports=frozenset({"cuda"}), script=script, **about)
    if path.suffix == languages.PTX:
        about = ptx_file.read(file, file.table())
        return Repro(path=path, text=file.text, imports=frozenset({"cuda"}), **about)
    tree = file.parse()
    table = file.table()
    if printed_claim.is_one(tree, table, "repro" in file.script.get("tool", {})):
        about = printed_claim.read(file, table, file.claim(tree, printed_claim.first_statement(tree)))
        script = Script(about.pop("args"), about.pop("printed"), about.pop("options"))
        return Repro(path=path, text=file.text, imports=imports(tree), script=script, **about)
    params = file.params(table)
    kernels = cuda_headers.kernels(file, table)
    run = file.run(tree, params, (cuda_headers.GIVEN,) if kernels else ())
    printed_claim.refuse(file, table)
    repro = Repro(
        path=path,
        text=file.text,
        claim=file.claim(tree, run),
        arch=file.arch(table),
        params=params,
        compare=output_rules.implied(file.compare(table), table),
        outcome=file.outcome(table),
        timeout_s=file.timeout_s(table),
        checks=file.checks(params),
        has_expected=any(isinstance(n, ast.FunctionDef) and n.name == "expected" for n in tree.body),
        imports=imports(tree) | ({"cuda"} if kernels else set()),
        needs=file.needs(),
        requires_python=file.requires_python(),
        kernels=kernels,
        nvidia=expectation.read(file, table),
        silenced=silenced.read(file),
        **output_rules.read(file, table, tree),
    )
    return repro


def source(path: Path, data: bytes) -> Source:
    """The text of a file. Raises ReproError."""
    try:
        return Source(path, data.decode("utf-8").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise ReproError(
            f"{short(path)}: SYNTAX_ERROR\n    the file is not UTF-8: {error}\nfix: save it as UTF-8"
        ) from None


def imports(tree: ast.Module) -> frozenset[str]:
    every = list(statements(tree))
    names = [alias.name for each in every if isinstance(each, ast.Import) for alias in each.names]
    names += [each.module for each in every if isinstance(each, ast.ImportFrom) and each.module]
    return frozenset(name.partition(".")[0] for name in names)


def statements(parent: ast.AST) -> Iterator[ast.AST]:
    """The statements inside a statement, at any depth; expressions are not searched."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for each in getattr(parent, name, ()):
            yield each
            yield from statements(each)


def short(path: Path | str) -> str:
    """The path relative to the working folder where that is shorter to read."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


class Source:
    """The text of one file and the errors that point into it."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.text = text
        self.mark = languages.comment_mark(path)
        self.block = languages.block(text)
        self.script: dict[str, Any] = {}

    def error(self, line: int, column: int, width: int, name: str, message: str, fix: str) -> NoReturn:
        """Raise the text of an error at a 1-based line and column."""
        source = self.lines[line - 1] if line <= len(self.lines) else ""
        indent = len(source) - len(source.lstrip())
        carets = " " * max(column - 1 - indent, 0) + "^" * max(width, 1)
        head = f"{short(self.path)}:{line}:{column}: {name}"
        raise ReproError(f"{head}\n    {source.strip()}\n    {carets} {message}\nfix: {fix}")

    def parse(self) -> ast.Module:
        try:
            return ast.parse(self.text, str(self.path))
        except SyntaxError as error:
            line, column = error.lineno or 1, error.offset or 1
            width = (error.end_offset or 0) - column if error.end_lineno == line else 1
            self.error(line, column, width, "SYNTAX_ERROR", error.msg, "correct the Python syntax")
        except (ValueError, RecursionError, MemoryError) as error:
            why = str(error) or "it is nested too deep"
            raise ReproError(f"{short(self.path)}: SYNTAX_ERROR\n    {why}") from None

    def table(self) -> dict[str, Any]:
        """The `[tool.repro]` table, its keys known."""
        block, mark = self.block, self.mark
        if block is None:
            return {}
        opened = self.lines[block.line - 1]
        if not block.is_closed:
            fix = f"end the block with a line `{mark} ///`, and begin each line between with `{mark} `"
            self.error(block.line, 1, len(opened.rstrip()), "UNCLOSED_BLOCK", "opens a block that does not end", fix)
        try:
            self.script = tomllib.loads("\n".join(block.rows))
            table = self.script.get("tool", {}).get("repro", {})
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            line, column = block.place(*((int(place[1]), int(place[2])) if place else (len(block.rows), 1)))
            message = str(error).split(" (at ")[0]
            fix = f"write the block between `{mark} /// script` and `{mark} ///` as TOML, each line after `{mark} `"
            self.error(line, column, 1, "BAD_TOML", message, fix)
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in thousands of lists
            fix = "write smaller numbers and flatter lists"
            message = f"cannot be read: {type(error).__name__}"
            self.error(block.line, 1, len(opened.rstrip()), "BAD_TOML", message, fix)
        known = KNOWN_KEYS | LANGUAGE_KEYS.get(self.path.suffix, {})
        if cuda_headers.SOURCE in table and self.path.suffix == languages.PYTHON:
            known |= LANGUAGE_KEYS[languages.CUDA]
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                keys = "\n".join(f"    {name:8} {meaning}" for name, meaning in sorted(known.items()))
                fix = (f"write `{near[0]}`; " if near else "remove it; ") + f"the keys of a file's block are\n{keys}"
                if key in PROJECT_KEYS:
                    fix = f"write [tool.repro.{key}.NAME] in pyproject.toml, which has the project's settings"
                self.key_error(key, "UNKNOWN_KEY", "is not a key of the file's block", fix)
        return table

    def key_error(self, key: str, name: str, message: str, fix: str) -> NoReturn:
        """Raise an error that points at `key` in the block."""
        pattern = re.compile(rf"^(?:\s*|.*[{{,.\[]\s*)(\"?{re.escape(key)}\"?)\s*[=.\]]")
        block = self.block or languages.Block(1, (), ())
        for row, text in enumerate(block.rows, 1):
            match = pattern.match(text)
            if match:
                line, column = block.place(row, match.start(1) + 1)
                self.error(line, column, len(match[1]), name, message, fix)
        line = block.line
        self.error(line, 1, len(self.lines[line - 1]), name, f"`{key}` {message}", fix)

    def needs(self) -> tuple[str, ...]:
        """What PEP 723 calls `dependencies`."""
        needs = self.script.get("dependencies", [])
        if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
            fix = 'write `dependencies = ["nvidia-cutlass-dsl", "numpy"]`'
            self.key_error("dependencies", "BAD_DEPENDENCIES", "is not a list of requirements", fix)
        return tuple(needs)

    def requires_python(self) -> str:
        wanted = self.script.get("requires-python", ">=3.11")
        if not isinstance(wanted, str):
            self.key_error("requires-python", "BAD_PYTHON", f"is {wanted!r}", 'write `requires-python = ">=3.11"`')
        return wanted

    def params(self, table: dict[str, Any]) -> dict[str, tuple[Value, ...]]:
        params = table.get("params", {})
        if not isinstance(params, dict):
            self.key_error("params", "BAD_PARAMS", "is not a table", f"write {KNOWN_KEYS['params']}")
        for name, values in params.items():
            if not name.isidentifier():
                self.key_error(name, "BAD_PARAMS", "is not a parameter", "call it as run() does, as in `width`")
            if not isinstance(values, list) or not values:
                fix = f"write `{name} = [8, 16]`, also for one value"
                self.key_error(name, "BAD_PARAMS", "is not a list of at least one value", fix)
            for value in values:
                if not isinstance(value, bool | int | float | str) or not _LABEL.fullmatch(label(value)):
                    fix = "use booleans, numbers, or strings of letters, digits and `_ . + -` "
                    fix += "(they name items and files)"
                    self.key_error(name, "BAD_PARAMS", f"holds {value!r}", fix)
            if len({label(value) for value in values}) < len(values):
                self.key_error(name, "BAD_PARAMS", "holds a value twice", "keep one of each")
        if (count := math.prod(map(len, params.values()))) > MOST_CASES:
            self.key_error("params", "BAD_PARAMS", f"make {count} cases", f"keep at most {MOST_CASES}")
        return {name: tuple(values) for name, values in params.items()}

    def arch(self, table: dict[str, Any]) -> str | None:
        arch = table.get("arch")
        if arch is not None and not (isinstance(arch, str) and _ARCH.fullmatch(arch)):
            self.key_error(
                "arch", "BAD_ARCH", f"is {arch!r}", 'write the least GPU that has the feature: arch = "sm_80"'
            )
        return arch

    def compare(self, table: dict[str, Any]) -> dict[str, Rule]:
        compare = table.get("compare", {})
        if not isinstance(compare, dict):
            self.key_error("compare", "BAD_COMPARE", "is not a table", f"write {KNOWN_KEYS['compare']}")
        return {output: self.rule(output, text) for output, text in compare.items()}

    def rule(self, output: str, text: Any) -> Rule:
        match = _RULE.fullmatch(text) if isinstance(text, str) else None
        fix = f'write {output} = "bits" (exact), "ulp:2", "rel:1e-5", "abs:1e-6", "close:1e-5,1e-6" '
        fix += '(relative, absolute), "set", "pred:NAME" or "undef" (not compared)'
        if not match:
            self.key_error(output, "BAD_COMPARE", f"has the rule {text!r}", fix)
        if match["ulp"]:
            return Rule("ulp", int(match["ulp"]))
        relative, absolute = match["rel"] or match["close"], match["abs"] or match["to"]
        if relative or absolute:
            try:
                bounds = float(relative or 0), float(absolute or 0)
            except ValueError:
                bounds = math.inf, math.inf
            if not all(0 <= bound < math.inf for bound in bounds):
                self.key_error(output, "BAD_COMPARE", f"has the rule {text!r}", fix)
            return Rule("close" if match["close"] else "rel" if relative else "abs", bounds[0], "", bounds[1])
        return Rule("pred", name=match["pred"]) if match["pred"] else Rule(text)

    def outcome(self, table: dict[str, Any]) -> str:
        outcome = table.get("outcome", "outputs")
        if outcome not in OUTCOMES:
            faults = ", ".join(findings.MEANINGS)
            fix = f"write {KNOWN_KEYS['outcome']}; the faults are {faults}"
            self.key_error("outcome", "BAD_OUTCOME", f"is {outcome!r}", fix)
        return outcome

    def timeout_s(self, table: dict[str, Any]) -> float:
        timeout = table.get("timeout", DEFAULT_TIMEOUT_S)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 86400:
            self.key_error("timeout", "BAD_TIMEOUT", f"is {timeout!r}", "write seconds, more than 0 and at most 86400")
        return float(timeout)

    def claim(self, tree: ast.Module, run: ast.stmt) -> str:
        docstring = (ast.get_docstring(tree) or "").strip()
        if not docstring:
            fix = "begin the file with a docstring whose first line is the claim: "
            fix += '"""shfl.sync reads only inside its segment."""'
            self.error(run.lineno, run.col_offset + 1, 3, "NO_CLAIM", "the file has no claim", fix)
        return re.split(r"\s+Source:", docstring.split("\n")[0])[0].strip()

    def run(self, tree: ast.Module, params: Mapping[str, Any], given: tuple[str, ...] = ()) -> ast.FunctionDef:
        """The `run` function, which must take exactly what it is given and the parameters."""
        functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "run"]
        wanted = f"def run({', '.join([*given, *params])}):"
        if not functions:
            last = max((n for n, line in enumerate(self.lines, 1) if line.strip()), default=1)
            fix = f'add `{wanted}` that returns a dict of arrays, e.g. `return {{"out": out}}`'
            text = self.lines[last - 1].strip()
            message = "the file ends here without a function `run`"
            self.error(last, self.lines[last - 1].find(text) + 1, len(text), "NO_RUN", message, fix)
        run = functions[-1]
        self.signature(run, {**dict.fromkeys(given), **params}, wanted)
        for function in tree.body:
            if isinstance(function, ast.FunctionDef) and function.name == "expected":
                self.signature(function, params, f"def expected({', '.join(params)}):")
        return run

    def signature(self, function: ast.FunctionDef, params: Mapping[str, Any], wanted: str) -> None:
        spec = function.args
        positional = spec.posonlyargs + spec.args
        required = [a.arg for a in positional[: len(positional) - len(spec.defaults)]]
        required += [a.arg for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is None]
        accepted = {a.arg for a in spec.args + spec.kwonlyargs}
        missing = [name for name in required if name not in params]
        surplus = [name for name in params if name not in accepted and not spec.kwarg]
        if missing and "repro" not in self.script.get("tool", {}):
            self.undeclared(function, missing)
        if missing or surplus:
            message = f"takes {missing[0]}, which is not in params" if missing else f"does not take {surplus[0]}"
            fix = f"write `{wanted}`, or change params in the file's block"
            column = function.col_offset + 5
            self.error(function.lineno, column, len(function.name), "BAD_SIGNATURE", message, fix)

    def undeclared(self, function: ast.FunctionDef, names: list[str]) -> NoReturn:
        """Raise the error of a program without a [tool.repro] table whose function needs values all the same."""
        message = f"takes {', '.join(names)}, but the file has no [tool.repro] block that lists values for "
        message += "it" if len(names) == 1 else "them"
        params = ", ".join(f"{name} = [1, 2]" for name in names)
        lines = f"    # [tool.repro]\n    # params = {{ {params} }}\n"
        whole = f"begin the file with\n    # /// script\n{lines}    # ///\n"
        fix = f"add to its `# /// script` block\n{lines}" if self.block else whole
        fix += f"or run it as a plain program: python -m dsl {short(self.path)}"
        self.error(function.lineno, function.col_offset + 5, len(function.name), "NO_PARAMS", message, fix)

    def checks(self, params: Mapping[str, tuple[Value, ...]]) -> tuple[Check, ...]:
        checks = []
        is_python = self.path.suffix == languages.PYTHON
        inside = [False] * len(self.lines) if is_python else languages.inside_comments(self.lines)
        for number, text in enumerate(self.lines, 1):
            if "CHECK" in text and (_CHECK_INSIDE if inside[number - 1] else _CHECK_LIKE).match(text):
                checks.append(self.check(number, text if is_python else text.partition("*/")[0], params))
        return tuple(checks)

    def check(self, number: int, text: str, params: Mapping[str, tuple[Value, ...]]) -> Check:
        match = _CHECK.fullmatch(text)
        column = text.index("CHECK") + 1
        if not match:
            fix = f"write `{self.mark} CHECK-PTX: text` or `{self.mark} CHECK-SASS: text`, "
            fix += f"with one of {DIRECTIVES}: `{self.mark} CHECK-PTX(width=8)-NOT: text`"
            width = len(re.split(r"[:\s]", text[column - 1 :], maxsplit=1)[0])
            self.error(number, column, width, "BAD_CHECK", "is not a CHECK line", fix)
        when = []
        for part in filter(None, (p.strip() for p in (match["when"] or "").split(","))):
            name, _, value = (p.strip() for p in part.partition("="))
            if value not in [label(v) for v in params.get(name, ())]:
                values = ", ".join(f"{k}={label(v)}" for k in params for v in params[k]) or "none: there are no params"
                start = text.index(part) + 1
                self.error(number, start, len(part), "BAD_CHECK", "is not a value of a parameter", f"one of {values}")
            when.append((name, value))
        directive = (match["directive"] or "") + (match["literal"] or "")
        if not match["pattern"].strip() and match["directive"] != "EMPTY":
            width, fix = len(text) - column + 1, "write text after the colon"
            self.error(number, column, width, "BAD_CHECK", "has nothing to match", fix)
        return Check(match["target"], directive, match["pattern"].strip(), number, tuple(when))
