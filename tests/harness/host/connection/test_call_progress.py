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
