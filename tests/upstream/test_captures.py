"""Rows of the captures of other people's programs."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import captures


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch, capsys):
    asked = []

    def capture(row, *_):
        asked.append(row.name)
        verdict = "reproduces" if row.options else "missing: all of it"
        return {"name": row.name, "about": "", "lines": 10, "data_kb": 2, "seconds": 3, "verdict": verdict}

    monkeypatch.setattr(captures, "_capture", capture)
    rows = tmp_path / "rows.jsonl"
    arguments = [str(tmp_path), "layernorm and rmsnorm", "top-k", "--folder", f"liger={tmp_path}", "--json", str(rows)]
    assert captures.main(arguments) == 1
    first = list(asked)
    assert len(first) == 2 and all(name.startswith("liger:") for name in first)  # quack has no folder
    assert "1 of 2 reproduce; median 10 lines of 2 files" in capsys.readouterr().out
    rows.write_text(rows.read_text().splitlines()[0] + "\n")
    captures.main(arguments)
    assert asked == [*first, first[1]]
    assert [json.loads(line)["name"] for line in rows.read_text().splitlines()] == first
    captures.main(["--table", str(rows)])
    assert f"| {first[0]} |  | 10 | 2 | 3 | missing: all of it |" in capsys.readouterr().out
