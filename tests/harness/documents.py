"""Documents of `repro --json`, checked against their schema. `python tests/harness/documents.py` prints the tables of docs/json.md."""

import copy
import functools
import json
from typing import Any

import jsonschema

from harness.cli import document


def strict(schema: Any) -> Any:
    """The schema without fields that it does not describe."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if schema.get("properties") and "required" in schema else {}
    return closed | {key: strict(value) for key, value in schema.items()}


@functools.cache
def validator() -> jsonschema.Draft202012Validator:
    schema = document.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(strict(copy.deepcopy(schema)))


def document_of(text: str, status: int | None = None) -> dict[str, Any]:
    """The one document of a text, without anything around it."""
    one = json.loads(text)
    wrong = [f"{list(error.absolute_path)}: {error.message[:300]}" for error in validator().iter_errors(one)]
    assert wrong == []
    assert status in (None, one["exit_status"])
    return one


def result_of(text: str, status: int | None = None) -> dict[str, Any]:
    """The result of the document; the command did not fail with an error."""
    one = document_of(text, status)
    assert one["error"] is None, one["error"]
    return one["result"]


def check_result(name: str, result: dict[str, Any]) -> None:
    """Check what a command gives as its result."""
    head = {"schema": document.NAME, "version": document.VERSION, "tool_version": None, "command": name}
    document_of(json.dumps(document.plain(head | {"exit_status": 0, "error": None, "result": result})))


def tables() -> dict[str, str]:
    """By the name of a definition: the rows of its fields, as the page has them."""
    schema = document.schema()
    named = {"document": {"properties": schema["properties"]}} | schema["$defs"]
    return {name: "\n".join(_rows(one)) for name, one in named.items() if "properties" in one}


def _rows(schema: dict[str, Any], prefix: str = "") -> list[str]:
    rows = []
    for name, one in schema["properties"].items():
        inner = one.get("items", {})
        if "description" in one:
            rows.append(f"| `{prefix}{name}{'[]' if one.get('type') == 'array' else ''}` | {_about(one)} |")
        if isinstance(inner, dict) and "properties" in inner:
            rows += _rows(inner, f"{prefix}{name}[].")
    return rows


def _about(one: dict[str, Any]) -> str:
    refs = [text for text in (_ref(one), _ref(one.get("items", {}))) if text]
    return one["description"] + "".join(
        f" ([{name}](#{name}))" for name in refs if f"`{name}`" not in one["description"]
    )


def _ref(one: Any) -> str:
    if not isinstance(one, dict):
        return ""
    found = one.get("$ref") or next((o["$ref"] for o in one.get("anyOf", ()) if "$ref" in o), "")
    return found.rpartition("/")[2]


if __name__ == "__main__":
    for name, text in tables().items():
        print(f"### {name.removesuffix('_result')}\n\n| field | |\n|---|---|\n{text}\n")
