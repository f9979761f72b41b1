"""The Markdown of an issue: what is expected, what came, the program, and how to run it."""

from __future__ import annotations

import importlib.metadata
import shlex
import sys
from dataclasses import dataclass, field
from typing import Any

from harness.claim.repro_file import label
from harness.compiler_name import OURS
from harness.issue import markdown
from harness.issue.anonymous import Anonymous
from harness.issue.facts import WRONG, Facts
from harness.records import observations

MOST_CHARACTERS = 65536  # GitHub takes no longer issue
SHOWN_ELEMENTS = 16
SHOWN_DIFF_LINES = 120
_NVIDIA = "nvidia-cutlass-dsl"
_LEAST_BLOCK = 400  # characters of a block that is shortened


@dataclass
class Block:
    """Text in a fence. A block with a lower `worth` is shortened first."""

    text: str
    language: str = ""
    title: str = ""  # of a block that is folded
    name: str = ""  # what a sentence calls it
    worth: int = 0
    most: int | None = None  # characters that are shown

    def markdown(self) -> str:
        text = self.text
        if self.most is not None and len(text) > self.most:
            text = text[: self.most].rpartition("\n")[0] or text[: self.most]
        body = markdown.fenced(text, self.language)
        if len(text) < len(self.text):
            left = len(self.text.splitlines()) - len(text.splitlines())
            body += (
                f"\n\nGitHub takes at most {MOST_CHARACTERS} characters: {left} lines of {self.name} are left out.\n"
            )
        return markdown.folded(self.title, body) if self.title else body


@dataclass
class Issue:
    """`warnings`: what a person should look at before it is posted."""

    text: str
    shortened: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def write(facts: Facts, anonymous: Anonymous) -> Issue:
    """The issue, with at most MOST_CHARACTERS."""
    parts = _Parts(facts, anonymous).all()
    blocks = sorted((part for part in parts if isinstance(part, Block)), key=lambda block: block.worth)
    text = _joined(parts)
    for block in blocks:
        over = len(text) - MOST_CHARACTERS
        if over <= 0:
            break
        block.most = max(len(block.text) - over - 200, _LEAST_BLOCK if block.worth else 0)
        text = _joined(parts)
    shortened = [block.name for block in blocks if block.most is not None]
    warnings = [f"the name {name} in the program contains a user or host name" for name in anonymous.kept]
    return Issue(text[:MOST_CHARACTERS], shortened, warnings)


def _joined(parts: list[str | Block]) -> str:
    return "\n\n".join(part.markdown() if isinstance(part, Block) else part for part in parts if part) + "\n"


class _Parts:
    """The parts of one issue, in order."""

    def __init__(self, facts: Facts, anonymous: Anonymous) -> None:
        self.facts, self.anonymous = facts, anonymous
        name = facts.repro.path.name
        paths = (
            [facts.record.claim, facts.record.repro_then] if facts.record else [facts.run.script] if facts.run else []
        )
        anonymous.folders |= {path: name for path in paths if "/" in path}
        self.file = anonymous.text(facts.repro.path.name if facts.repro.path.suffix == ".py" else "program.py")

    def prose(self, text: str) -> str:
        return markdown.prose(self.anonymous.text(text))

    def all(self) -> list[str | Block]:
        return [
            *(self.claim_and_answer() if self.facts.record else self.what_it_printed()),
            "### Versions",
            self.versions(),
            *self.first_bad(),
            "### Program",
            *self.program(),
            "### Run it",
            *self.commands(),
            *self.code_difference(),
        ]

    # --- what came ---------------------------------------------------------------------------------------------------

    def claim_and_answer(self) -> list[str | Block]:
        record, repro, line = self.facts.record, self.facts.repro, self.facts.line
        assert record is not None
        parts: list[str | Block] = [self.prose(repro.claim or "A program.")]
        if record.case:
            parts.append(f"Parameters: {markdown.code(self.anonymous.text(record.case))}.")
        parts += ["### Expected", self.expected()]
        parts.append("### Got" if record.verdict in WRONG else "### Got, as expected")
        text = self.anonymous.text(line.get("text") or "")
        if record.differences:
            parts += [part for one in record.differences for part in self.elements(one)]
        elif text:
            parts.append(Block(text, "text", name="the message", worth=2))
        else:
            reason = record.verdict_reason or record.outcome
            parts.append(self.prose(reason[0].upper() + reason[1:] + "."))
        return parts

    def expected(self) -> str:
        repro, record = self.facts.repro, self.facts.record
        assert record is not None
        if repro.outcome != "outputs":
            return f"The outcome {markdown.code(repro.outcome)}."
        against = next((one.get("against") for one in record.differences), None)
        if against:
            return f"The values of {self.prose(str(against))} in the table below."
        if record.verdict in WRONG:
            return "`run()` returns its outputs, and the claim holds."
        return "The claim holds."

    def elements(self, one: dict[str, Any]) -> list[str]:
        """The first elements of an output that differ, with index and lane."""
        head = self.prose(str(one.get("message") or ""))
        rows = [[", ".join(map(str, index)), lane, a, b] for index, lane, a, b in one.get("first", ())[:SHOWN_ELEMENTS]]
        if not rows:
            return [head]
        columns = ["index", "lane", "expected", "got"]
        if not any(row[1] for row in rows):
            columns, rows = [columns[n] for n in (0, 2, 3)], [[row[n] for n in (0, 2, 3)] for row in rows]
        cells = [[self.prose(str(cell)) for cell in row] for row in rows]
        more = (one.get("count") or 0) - len(rows)
        return [head, markdown.table(columns, cells), *([f"{more} more elements differ."] if more > 0 else [])]

    def what_it_printed(self) -> list[str | Block]:
        run = self.facts.run
        assert run is not None
        ended = run.outcome if run.exit is None else f"exit status {run.exit}"
        parts: list[str | Block] = [f"This program ends with {markdown.code(ended)}.", "### Got"]
        output = self.anonymous.text(observations.output_of(run).rstrip())
        text = self.anonymous.text(run.text.rstrip())
        if output:
            parts += ["It printed:", Block(output, "text", name="its output", worth=2)]
        if text:
            parts.append(Block(text, "text", name="the message", worth=3))
        return parts if output or text else [*parts, "It printed nothing."]

    # --- where -------------------------------------------------------------------------------------------------------

    def versions(self) -> str:
        facts = self.facts
        line = facts.line or _raw(facts)
        device, compiler, versions = (line.get(key) or {} for key in ("device", "compiler", "versions"))
        rows = [("Compiler", self.compiler(line.get("asked") or "", compiler))]
        if device.get("kind") == "cuda":
            about = [device.get("name"), device.get("arch"), device.get("driver") and f"driver {device['driver']}"]
            rows.append(("GPU", ", ".join(str(part) for part in about if part)))
        else:
            rows.append(("GPU", f"none: the emulator of gpu-repro, {device.get('arch') or 'no kernel ran'}"))
        for name, value in (("CUDA", device.get("cuda")), ("ptxas", line.get("ptxas"))):
            rows += [(name, str(value))] if value else []
        named = sorted(versions, key=lambda name: (name != "python", name))
        rows += [(name.capitalize() if name == "python" else name, str(versions[name])) for name in named]
        return markdown.table(("", ""), [(self.prose(name), self.prose(value)) for name, value in rows])

    def compiler(self, asked: str, compiler: dict[str, Any]) -> str:
        """`nvidia-cutlass-dsl 4.8.1`"""
        name = str(compiler.get("name") or asked or OURS)
        version = str(compiler.get("version") or asked.partition("==")[2])
        return f"{_NVIDIA if name == 'nvidia' else 'gpu-repro' if name == OURS else name} {version}".strip()

    def first_bad(self) -> list[str]:
        one = self.facts.bisected
        if one is None:
            return []
        what = {"compiler": "release", "package": "release", "ptxas": "release of ptxas", "commit": "commit"}
        word = what.get(one.axis.removeprefix("--"), "version")
        bad, good = self.prose(one.first_bad or ""), self.prose(one.last_good or "")
        if one.kind == "found":
            return [f"First bad {word}: **{bad}**. Last good {word}: **{good}**."]
        return [f"The answer changed between the {word}s **{good}** (good) and **{bad}** (bad)."]

    # --- the program -------------------------------------------------------------------------------------------------

    def program(self) -> list[str | Block]:
        repro = self.facts.repro
        source = Block(self.anonymous.source(repro.text), "python", self.file, "the program", worth=4)
        if repro.kernels is None:
            return [source]
        name = repro.kernels.path.name
        return [source, Block(self.anonymous.source(repro.kernels.text), "cuda", name, f"the kernels, {name}", worth=4)]

    def commands(self) -> list[str | Block]:
        alone = [
            "Without gpu-repro:",
            Block(self.anonymous.text(_alone(self.facts, self.file)), "sh", name="the command", worth=5),
            "With it:",
        ]
        return [
            *(alone if self.facts.repro.kernels is None else []),  # else it needs the PTX of its kernels
            Block(self.anonymous.text(_with_us(self.facts, self.file)), "sh", name="the command", worth=5),
        ]

    def code_difference(self) -> list[str | Block]:
        """PTX and SASS of the side that passed and of this one."""
        facts = self.facts
        texts = [one for one in (facts.difference or {}).get("texts", ()) if one["diff"]]
        if not texts or facts.good is None or facts.record is None:
            return []
        good, bad = (self.prose(_side(one)) for one in (facts.good, facts.record))
        parts: list[str | Block] = ["### Difference of the code", f"A is {good}, which passes. B is {bad}."]
        for one in texts:
            lines = one["diff"].splitlines()
            more = [f"... {len(lines) - SHOWN_DIFF_LINES} more lines"] if len(lines) > SHOWN_DIFF_LINES else []
            text = self.anonymous.code("\n".join(lines[:SHOWN_DIFF_LINES] + more))
            title = f"{one['kind'].upper()} of {self.anonymous.text(one['kernel'])}"
            parts.append(Block(text, "diff", title, f"the {title}"))
        return parts


def _raw(facts: Facts) -> dict[str, Any]:
    """The device, compiler and versions in the line of an observation."""
    run = facts.run
    if run is None:
        return {}
    return {"device": run.device, "compiler": run.compiler, "versions": run.versions, "asked": run.asked}


def _side(record: Any) -> str:
    version = record.provenance.get("compiler_version")
    gpu, driver = record.provenance.get("gpu"), record.provenance.get("driver")
    name = record.compiler if "==" in record.compiler or not version else f"{record.compiler} {version}"
    return ", ".join(str(part) for part in (name, gpu, driver and f"driver {driver}") if part)


def _alone(facts: Facts, file: str) -> str:
    """The command that runs the program with its packages, and nothing of this project."""
    line = facts.line or _raw(facts)
    versions, compiler = line.get("versions") or {}, line.get("compiler") or {}
    pins = {name: version.partition("+")[0] for name, version in versions.items() if name != "python"}
    if compiler.get("name") == "nvidia" and compiler.get("version"):
        pins[_NVIDIA] = compiler["version"]
    names = {need: need.partition(";")[0].strip() for need in facts.repro.needs or _imported(facts)}
    with_ = [f"{name}=={pins[name]}" if name in pins else need for need, name in names.items()]
    words = ["uv", "run", "--no-project"]
    if versions.get("python"):
        words += ["--python", ".".join(str(versions["python"]).split(".")[:2])]
    words += [word for need in with_ for word in ("--with", need)]
    if facts.run or (not _params(facts) and "__main__" in facts.repro.text and not facts.repro.has_expected):
        return shlex.join([*words, "python", file, *(facts.run.args if facts.run else ())])
    return shlex.join([*words, "python", "-c", _call(facts, file)])


def _imported(facts: Facts) -> list[str]:
    """The packages that a script without a block imports."""
    if facts.run is None:
        return []
    folder, known = facts.repro.path.parent, importlib.metadata.packages_distributions()
    modules = sorted(
        name
        for name in facts.repro.imports - sys.stdlib_module_names
        if not (folder / f"{name}.py").exists() and not (folder / name).is_dir()
    )
    return [_NVIDIA if name == "cutlass" else next(iter(known.get(name, ())), name) for name in modules]


def _call(facts: Facts, file: str) -> str:
    """Python that calls run(), and expected() if there is one, as the harness does."""
    assert facts.record is not None
    values = _params(facts)
    given = ", ".join(f"{name}={value!r}" for name, value in values.items())
    name = file.removesuffix(".py")
    prefix = f"import {name}; " if name.isidentifier() else f"import runpy; f = runpy.run_path({file!r}); "
    call = (lambda n: f"{name}.{n}({given})") if name.isidentifier() else (lambda n: f"f[{n!r}]({given})")
    return prefix + "; ".join(f"print({call(n)})" for n in ("run", *["expected"] * facts.repro.has_expected))


def _params(facts: Facts) -> dict[str, Any]:
    """The values of the case's parameters."""
    assert facts.record is not None
    declared, found = facts.repro.params, {}
    for one in filter(None, facts.record.case.split(",")):
        name, _, text = one.partition("=")
        known = [value for value in declared.get(name, ()) if label(value) == text]
        found[name] = known[0] if known else _read(text, declared.get(name, ("",))[0])
    return found


def _read(text: str, like: Any) -> Any:
    """A value that `params` does not list, of the type of those that it lists."""
    try:
        return type(like)(text)
    except ValueError:
        return text


def _with_us(facts: Facts, file: str) -> str:
    """`repro run`, on the GPU of whoever reads it where a GPU ran it."""
    line = facts.line or _raw(facts)
    words = ["uv", "run", "repro", "run", file]
    if facts.record:
        words += [word for one in facts.record.case.split(",") if one for word in ("-p", one)]
    words += ["--host", "local"] if (line.get("device") or {}).get("kind") == "cuda" else []
    asked = str(line.get("asked") or OURS)
    words += ["--compiler", asked] if asked != OURS else []
    args = facts.run.args if facts.run else []
    return shlex.join([*words, *(["--", *args] if args else [])])
