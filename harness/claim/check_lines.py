"""CHECK lines of a repro, matched with FileCheck against what the compiler made for a case."""

from __future__ import annotations

import io
import re
from typing import Any

from harness.claim.repro_file import Case, short


def failure(case: Case, kernels: list[dict[str, Any]], target: str) -> str:
    """The message of the first failed CHECK line, or ''. `target`: PTX or SASS; the modules are one text in order."""
    checks = case.checks(target)
    if not checks:
        return ""
    texts = list(
        dict.fromkeys(kernel[target.lower()] or "" for kernel in kernels)
    )  # kernels of one module share its text
    if not any(texts):
        return f"the CHECK-{target} lines have nothing to match: the case compiled no kernel"
    lines = [""] * max(check.line for check in checks)
    for check in checks:
        directive = re.sub(r"^(?=[A-Z])", "-", check.directive)
        lines[check.line - 1] = f"# CHECK-{target}{directive}: {check.pattern}"
    return _filecheck(case, lines, "\n".join(texts), target)


def _filecheck(case: Case, lines: list[str], text: str, target: str) -> str:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import Options
    from filecheck.parser import Parser, pattern_for_opts

    options = Options(short(case.repro.path), input_file=target, check_prefixes=[f"CHECK-{target}"])
    checks = io.StringIO("\n".join(lines) + "\n")
    matcher = Matcher(options, FInput(target, text), Parser(options, checks, *pattern_for_opts(options)))
    matcher.stderr = io.StringIO()
    if matcher.run() == 0:
        return ""
    said = re.sub(r"\x1b\[\d+m", "", matcher.stderr.getvalue()).strip()
    return _readable(case, said, target)


def _readable(case: Case, said: str, target: str) -> str:
    """FileCheck's message, with the author's line and carets under it."""
    first, *rest = said.splitlines()
    place = re.fullmatch(r".*?:(\d+):(?:\d+)? *(?:error: )?(.*)", first)
    if not place:
        return said
    number = int(place[1])
    source = case.repro.text.split("\n")[number - 1].strip()
    start = source.index("CHECK")
    carets = " " * start + "^" * (source.index(":") - start)
    shown = [f"{short(case.repro.path)}:{number}: CHECK_FAILED", f"    {source}", f"    {carets} {place[2]}"]
    for line in rest:
        at = re.fullmatch(rf"Current position at {target}:(\d+):.*", line)
        if at:
            shown.append(f"searched from {target} line {at[1]}:")
        elif line.startswith("Matching at:"):
            shown.append(f"found in the {target}:")
        elif line == "Possible intended match at:":
            shown.append("perhaps this was meant:")
        elif line.strip(" ^") and not line.startswith(f"{target}:"):
            shown.append("    " + line.expandtabs(4).strip())
    return "\n".join(shown)
