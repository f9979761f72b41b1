"""Tables of cases, as case_table makes them, for reports about a whole run."""

from typing import Any


def finding(name: str = "RACE", file: str = "repros/one.py", line: int = 21, **more: Any) -> dict[str, Any]:
    place = {"file": file, "line": line, "column": 5, "message": ""}
    return {
        "id": name, "level": "error", "message": "writes smem+0x0", "place": place, "related": [], "fix": "",
        "expected": False,
    } | more  # fmt: skip


def case(*findings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "repros/one.py", "repro": "repros/one.py", "claim": "It is so.", "host": "embedded",
        "compiler": "ours", "verdict": "fail" if findings else "pass", "reason": "race" if findings else "",
        "text": "", "outcome": "race" if findings else "outputs", "findings": list(findings),
    } | more  # fmt: skip


NOT_RUN = case(verdict="infra", reason="could not be run", outcome="infra", text="the host\nis gone", host="p1")
