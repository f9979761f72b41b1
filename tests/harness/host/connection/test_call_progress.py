"""Progress of a call."""

from harness.host.connection import call_progress
from harness.run.transport import Progress


def test_a_long_call_reports_progress(on_host, write, monkeypatch):
    """After two seconds the user sees the phase: starting, running; the live line shows it too."""
    monkeypatch.setattr(call_progress, "TELL_AFTER_S", 0.3)
    monkeypatch.setattr(call_progress, "TELL_EVERY_S", 0.5)
    far = on_host("p1")
    outcome = far.run(
        write("import time, numpy as np\ndef run():\n    time.sleep(1.5)\n    return {'out': np.arange(3)}")
    )
    assert outcome.kind == "outputs"
    told = [text for text in far.notes if isinstance(text, Progress)]
    assert any(text.startswith("p1: running (") and text.endswith(" s)") for text in told), far.notes


def test_progress_from_the_host_leaves_the_phase_unsaid(monkeypatch):
    """uv reports every ten seconds while it works: `starting (2 s)` after each would be wrong."""
    now = [0.0]
    monkeypatch.setattr(call_progress.time, "monotonic", lambda: now[0])
    notes = []
    talk = call_progress.Talk({"kind": "job"}, "p1", notes.append)
    for seconds in range(41):
        now[0] = float(seconds)
        if seconds and seconds % 10 == 0:
            talk.tell(f"uv is at work ({seconds} s)")
        talk.clock.tell()
    assert notes == ["p1: starting (2 s)", *(f"p1: uv is at work ({seconds} s)" for seconds in (10, 20, 30, 40))]
    now[0] = 52.0  # the host is silent
    talk.clock.tell()
    assert notes[-1] == "p1: starting (12 s)"
