"""A program's own words about its result: the line in which it reports a failure, also if its exit status is 0."""

from __future__ import annotations

import re

_FAILURE = re.compile(
    r"\bfail(?:s|ed|ure|ures)?\b|\bmismatch(?:es|ed)?\b|\bincorrect\b|\bwrong\b|\bnot (?:equal|close|correct)\b"
    r"|\bdo(?:es)? ?n[o']t match\b|^\s*\[?(?:error|err)\]?(?:$|:)|:\s*err(?:or)?\b(?!\s*[:=]?\s*[\d.])",
    re.IGNORECASE,
)
# "0 failed", "no mismatches", "failures: 0", "without failure"
_COUNT_OF_NONE = re.compile(
    r"\b(?:0|no|without|zero)\s+(?:fail\w*|mismatch\w*|wrong|incorrect)|\b(?:fail\w*|mismatch\w*)\s*[:=]\s*0\b(?!\.)",
    re.IGNORECASE,
)
# what torch's profiler logs where there is no GPU
_LOG = re.compile(r"^[A-Z]+:\d{4}-\d\d-\d\d [\d:]+ \d+:\d+ DeviceProperties\.cpp:\d+\] gpuGetDeviceCount failed")


def failure_in(output: str) -> str:
    """The first line of `output` that reports a failure; empty if there is none."""
    lines = (line for line in output.splitlines() if not _LOG.match(line))
    return next((line.strip() for line in lines if _FAILURE.search(_COUNT_OF_NONE.sub("", line))), "")
