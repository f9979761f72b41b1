"""One judged case as plain data, for `repro run --json`, reports on GitHub and SARIF."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.claim import case_id, findings as claim_findings
from harness.claim.repro_file import Case, Repro, short
from harness.compiler_name import OURS
from harness.host.hosts import Host
from harness.reporting import case_findings, text_report
from harness.reporting.finding_rules import ERROR
from harness.run.result import Outcome

if TYPE_CHECKING:
    from harness.verdict import Verdict

QUIET = ("pass", "skip")


def of(case: Case, host: Host, verdict: Verdict, root: Path) -> dict[str, Any]:
    """The case with its verdict and findings, without what it printed and without code."""
    record, outcome = verdict.record, verdict.outcome
    compiler = host.compiler if host.compiler != OURS else outcome.compiler
    return {
        "name": case_id.name(short(case.repro.path), case.name),
        "repro": record["repro"],
        "case": case.name,
        "claim": case.repro.claim,
        "host": host.name,
        "device": record["device"],
        "compiler": compiler,
        "compiler_version": (record["compiler"] or {}).get("version"),
        "versions": record["versions"],
        "verdict": verdict.status,
        "reason": verdict.reason,
        "text": "" if verdict.status == "pass" else verdict.text,
        "outcome": outcome.kind,
        "validated": verdict.validated,
        "waits": verdict.proposal is not None,
        "expected_failure": verdict.expected or None,
        "evidence": verdict.evidence or None,
        "findings": [one.as_table() for one in findings(case, verdict, root)],
        "differences": record["differences"],
        "notes": verdict.notes,
        "repro_sha256": case.repro.sha256,
        "seed": record["seed"],
        "durations": record["durations"],
        "date": record["date"],
        "again": text_report.rerun(case, host, compiler, outcome),
    }


def findings(case: Case, verdict: Verdict, root: Path) -> list[case_findings.Finding]:
    """The findings of a case; errors that its claim predicts are `expected`. A failed claim has one that is not."""
    found = case_findings.of(verdict.outcome, case.repro, root)
    if verdict.status in QUIET or is_predicted(case, verdict.outcome):
        found = [dataclasses.replace(one, expected=one.level == ERROR) for one in found]
    if verdict.status in (*QUIET, "infra") or any(one.level == ERROR and not one.expected for one in found):
        return found
    return [case_findings.claim_fails(verdict.status, verdict.reason, verdict.text, case.repro, root), *found]


def of_script(script: Repro, host: Host, outcome: Outcome, root: Path) -> dict[str, Any]:
    """One run of a script, which claims nothing: its findings are never expected."""
    called = script.script
    return {
        "script": short(script.path),
        "args": list(called.args) if called else [],
        "host": host.name,
        "device": outcome.device or {"kind": host.device, **host.device_facts},
        "compiler": host.compiler if host.compiler != OURS else outcome.compiler,
        "compiler_version": (outcome.facts.get("compiler") or {}).get("version"),
        "versions": outcome.versions,
        "outcome": outcome.detail.get("found") or outcome.kind,
        "exit": outcome.detail.get("exit"),
        "text": outcome.text,
        "findings": [one.as_table() for one in case_findings.of(outcome, script, root)],
        "script_sha256": script.sha256,
        "seed": outcome.facts.get("seed"),
        "durations": outcome.durations,
    }


def is_predicted(case: Case, outcome: Outcome) -> bool:
    """Whether the run ended in the claimed outcome; no checker finds `outputs` or `error`."""
    return outcome.kind not in ("outputs", "error") and claim_findings.fits(case.repro.outcome, outcome.kind)


def with_output(table: dict[str, Any], outcome: Outcome, ptx: bool, sass: bool) -> dict[str, Any]:
    """The same with what it printed, its outputs and its kernels; their code where it was asked for."""
    return table | {
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "outputs": {name: text_report.preview(array) for name, array in outcome.outputs.items()},
        "kernels": kernels(outcome, ptx, sass),
    }


def kernels(outcome: Outcome, ptx: bool, sass: bool) -> list[dict[str, Any]]:
    """The kernels of a run; `ptx` and `sass` are null where they were not asked for."""
    return [
        {
            "name": kernel["name"],
            "arch": kernel["arch"],
            "ptx_sha256": kernel["ptx_sha256"],
            "ptx": kernel["ptx"] if ptx else None,
            "sass": (kernel["sass"] or None) if sass else None,
        }
        for kernel in outcome.kernels
    ]
