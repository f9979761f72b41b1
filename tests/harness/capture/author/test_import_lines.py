"""The imports of a captured file."""

from harness.capture.author.import_lines import WIDTH, grouped


def test_names_of_one_module_are_together():
    lines = ["from typing import Type", "import cutlass as c", "from cutlass import b as d", "from typing import Any"]
    assert grouped([*lines, "import math"]) == [
        "from typing import Any, Type", "import math", "from cutlass import b as d", "import cutlass as c",
    ]  # fmt: skip


def test_many_names_are_on_several_lines():
    names = [f"a_rather_long_name_{number}" for number in range(20)]
    (text,) = grouped(f"from somewhere import {name}" for name in names)
    assert all(len(line) <= WIDTH for line in text.splitlines())
    made: dict = {}
    exec(text.replace("from somewhere import", "found ="), made | dict(zip(names, names)), made)
    assert set(made["found"]) == set(names)
