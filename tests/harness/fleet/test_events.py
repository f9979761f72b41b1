"""The lines of slots: which case is where, and at what."""

from types import SimpleNamespace

from harness.fleet.engine import Task
from harness.fleet.events import Shown
from harness.fleet.slots import Slot
from harness.host.hosts import Host


def test_a_case_has_the_line_of_its_slot():
    said = []
    live = SimpleNamespace(
        start=lambda *about: said.append(("start", *about)), end=lambda name: said.append(("end", name))
    )
    session = SimpleNamespace(live=live, notify=lambda text: said.append(("note", text)))
    shown = Shown(session)
    task = Task("pool:h100 embedded /home/me/repros/one.py::width=8", lambda slot, transport: None)
    slot = Slot("p1:3", "p1", Host("p1", "cuda"), None)
    shown.start(task, slot)
    shown.note("p2: the connection was lost")
    shown.end(task, slot)
    line = "p1:3  one.py::width=8"
    assert said == [("start", line, "p1:3"), ("note", "p2: the connection was lost"), ("end", line)]
    session.live = None
    shown.start(task, slot)
    shown.end(task, slot)
    assert len(said) == 3
