"""CHECK lines of a repro, matched with FileCheck against what the compiler made for a case."""

from __future__ import annotations

import io
import re
from typing import Any

from harness.repro import Case, short


def failure(case: Case, kernels: list[dict[str, Any]], target: str) -> str:
    """What the first CHECK line that fails says, or ''. `target` is PTX or SASS; all modules are one text, in order."""
    checks = case.checks(target)
    if not checks:
        return ""
    texts = list(dict.fromkeys(kernel[target.lower()] or "" for kernel in kernels))  # kernels of one module share its text
    if not any(texts):
        return f"the CHECK-{target} lines have nothing to match: the case compiled no kernel"
    lines = [""] * max(check.line for check in checks)
    for check in checks:
        directive = re.sub(r"^(?=[A-Z])", "-", check.directive)
        lines[check.line - 1] = f"# CHECK-{target}{directive}: {check.pattern}"
    return _filecheck(short(case.repro.path), "\n".join(lines) + "\n", "\n".join(texts), f"CHECK-{target}")


def _filecheck(name: str, checks: str, text: str, prefix: str) -> str:
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import Options
    from filecheck.parser import Parser, pattern_for_opts

    options = Options(name, input_file=prefix.removeprefix("CHECK-"), check_prefixes=[prefix])
    matcher = Matcher(options, FInput(options.input_file, text), Parser(options, io.StringIO(checks), *pattern_for_opts(options)))
    matcher.stderr = io.StringIO()
    return "" if matcher.run() == 0 else re.sub(r"\x1b\[\d+m", "", matcher.stderr.getvalue()).strip()
