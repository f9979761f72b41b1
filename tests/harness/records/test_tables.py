"""Answers of the record as text: columns, ages, and the message if there is nothing."""

import datetime

from harness.records import tables
from harness.records.index import states


def test_columns_are_as_wide_as_their_widest_cell():
    assert tables.table([("a", "bb"), ("ccc", "d")], "> ") == ["> a    bb", "> ccc  d"]
    assert tables.table([]) == []
    (line,) = tables.table([("x" * 200,)])
    assert len(line) == tables.WIDTH and line.endswith("...")


def test_ages():
    def ago(**time):
        return (datetime.datetime.now(datetime.UTC) - datetime.timedelta(**time)).isoformat().replace("+00:00", "Z")

    assert [tables.age(ago(**t)) for t in ({"minutes": 5}, {"hours": 47, "minutes": 5}, {"hours": 49})] == [
        "within the hour", "47 hours ago", "2 days ago",
    ]  # fmt: skip
    assert tables.age(None) == "never"
    assert tables.age("9999-99-99T99:99:99Z") == "at 9999-99-99T99:99:99Z"
    assert tables.age("2026-11-20T00:00:00") == tables.age("2026-11-20T00:00:00Z")


def test_a_matrix_has_a_letter_a_state():
    text = tables.matrix(
        {
            "columns": [{"arch": "sm_90", "compiler": "ours", "host": "p1"}],
            "rows": [
                {"claim": "repros/one.py", "cells": [states.VALIDATED], "state": states.VALIDATED},
                {"claim": "repros/longer.py", "cells": [None], "state": states.UNKNOWN},
            ],
        }
    )
    assert text.splitlines()[:7] == [
        "columns", "    1  sm_90 ours p1", "", "claim   1  state", "one     V  validated", "longer  .  unknown", "",
    ]  # fmt: skip
    assert len(set(tables.GLYPHS.values())) == len(tables.GLYPHS)
    assert tables.matrix({"columns": [], "rows": []}).startswith("there are no records yet")


def test_regressions_name_the_two_records_to_compare():
    row = {"arch": "sm_90", "compiler": "ours", "host": "p1", "state": "regressed", "claim": "r/one.py", "case": "w=8",
           "reason": "differs from the golden", "last_good": "a", "first_bad": "b", "says": "pass -> fail: no"}  # fmt: skip
    assert tables.regressions([row]) == (
        "regressed: one::w=8 on sm_90 ours p1\n    differs from the golden\n    pass -> fail: no\n    look: repro record diff a b"
    )
    assert tables.regressions([row | {"last_good": None, "says": ""}]).count("\n") == 1
    assert tables.regressions([]) == "no regression"
