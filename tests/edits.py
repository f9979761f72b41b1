"""Edits that findings propose, made in texts."""


def applied(text: str, edit: dict) -> str:
    """The text with an edit made."""
    lines, at = text.split("\n"), edit["line"] - 1
    assert lines[at] == edit["old"], edit
    first, last = {"insert_before": (at, at), "insert_after": (at + 1, at + 1), "replace": (at, at + 1)}[edit["kind"]]
    return "\n".join([*lines[:first], *edit["text"].split("\n"), *lines[last:]])
