"""Processes of a run ask one fleet: what passes, what is raised, who is let in, and the end of either side."""

import os
import stat
from multiprocessing import AuthenticationError
from pathlib import Path

import pytest

from harness.fleet.door import Door, Visitor
from harness.fleet.fleet import Ran, Request
from harness.run.result import infra
from harness.run.transport import LinkDown


class Fixed:
    """A fleet that reports where a case ran."""

    def __init__(self):
        self.submitted = []

    def submit(self, requests):
        self.submitted += [request.key for request in requests]

    def run(self, request):
        if request.key == "lost":
            raise LinkDown("the run was ended")
        return Ran(infra(request.case.name), "p1", "cuda", {"uuid": "07"}, "p1:0")


@pytest.fixture
def door():
    door = Door(Fixed())
    yield door
    door.close()
    assert not os.path.exists(door.address)


def test_cases_outcomes_and_errors_pass(door, write):
    (case,) = write("def run(n):\n    return {}", 'params = { n = [5] }\ncompare = { out = "ulp:2" }').cases()
    first, second = Visitor(door.address, door.key), Visitor(door.address, door.key)
    first.submit([Request("a", "p1", case, "ours"), Request("b", "p1", case, "ours")])
    second.submit([Request("c", "p1", case, "ours")])
    ran = second.run(Request("a", "p1", case, "ours"))
    assert (ran.outcome.kind, ran.outcome.text, ran.host, ran.device_facts) == ("infra", "n=5", "p1", {"uuid": "07"})
    with pytest.raises(LinkDown, match="the run was ended"):
        first.run(Request("lost", "p1", case, "ours"))
    assert first.run(Request("b", "p1", case, "ours")).slot == "p1:0"  # the door is open as before
    assert door.fleet.submitted == ["a", "b", "c"]
    first.close()
    second.close()


def test_only_this_user_and_who_knows_the_key(door):
    assert stat.S_IMODE(Path(door.address).parent.stat().st_mode) == 0o700
    with pytest.raises(AuthenticationError):
        Visitor(door.address, b"another").submit([])
    Visitor(door.address, door.key).submit([])


def test_a_fleet_that_is_gone_is_reported(door):
    visitor = Visitor(door.address, door.key)
    door.close()
    with pytest.raises(LinkDown, match="the process that holds the connections is gone"):
        visitor.submit([])
