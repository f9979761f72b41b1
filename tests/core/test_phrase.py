"""Sentences with parts: core's own text, and the text of a language."""

import ast
import collections
import copy
import enum
import math
import re
from pathlib import Path

import pytest

from dsl.core.number.dtypes import Float32, Int32, Uint8
from dsl.core.number.operators import type_name
from dsl.core.phrase import STATIC_PARAMETER, Phrase, cast, conversion, dynamic, kinds, reworded, shown, with_article

ROOT = Path(__file__).parents[2]
TEMPLATES = {"DYNAMIC": "{what:a} known at run time only", "CAST": "`T.{dtype}(x)`", "PYTHON_TYPE": "Python's {type}"}


class Colour(enum.Enum):
    RED = 1


def words(kind: type) -> str:
    return kind.__name__.lower()


def test_a_phrase_is_cores_own_text():
    assert Phrase("got {type} for `{name}`", type=Int32, name="x") == "got Int32 for `x`"
    assert Phrase("a {{}} of {got!r}", got="x") == "a {} of 'x'"
    assert str(dynamic(Float32)) == "a dynamic Float32"


@pytest.mark.parametrize(
    "phrase, text",
    [
        (Phrase("got {type}", type=Int32), "got int32"),
        (Phrase("{type:a} has none", type=Int32), "an int32 has none"),
        (Phrase("got {type}", type=type_name(3)), "got Python's int"),
        (Phrase("is {value}", value=dynamic(Uint8)), "is a uint8 known at run time only"),
        (Phrase("convert it: {cast}", cast=cast(Float32)), "convert it: `T.float32(x)`"),
        (Phrase("convert it: {to}", to=conversion(Float32)), "convert it: `x.to(cutlass.float32)`"),
        ("Int32 of plain text", "Int32 of plain text"),
    ],
)
def test_a_language_words_a_phrase_and_its_fields(phrase, text):
    assert reworded(phrase, TEMPLATES, words) == text


def test_kinds_include_the_kinds_of_the_fields():
    assert list(kinds(Phrase("a {b}", "A", b=Phrase("c {d}", d=STATIC_PARAMETER)))) == ["A", "STATIC_PARAMETER"]
    assert list(kinds("plain")) == []


def test_a_copy_keeps_the_parts():
    phrase = copy.deepcopy(Phrase("got {type}", "K", type=Int32))
    assert (phrase, phrase.kind, phrase.fields) == ("got Int32", "K", {"type": Int32})


@pytest.mark.parametrize("word, text", [("i32", "an i32"), ("u8", "a u8"), ("Int32", "an Int32"), ("tuple", "a tuple")])
def test_articles(word, text):
    assert with_article(word) == text


@pytest.mark.slow
def test_a_fix_in_cutes_words_has_a_kind():
    """Another language has its own sentence for it, or states that there is none."""
    wrong = []
    for folder in ("core", "gpu"):
        for path in sorted((ROOT / "dsl" / folder).rglob("*.py")):
            if "diagnosis" in path.parts:  # of CuTe programs
                continue
            for call in ast.walk(ast.parse(path.read_text())):
                if not isinstance(call, ast.Call) or ast.unparse(call.func).endswith("warn_not_portable"):
                    continue
                for fix in (keyword.value for keyword in call.keywords if keyword.arg == "fix"):
                    text = ast.unparse(fix)
                    if re.search(r"\bcutlass\b|\bcute\b|onstexpr|const_expr", text) and not re.search(
                        r"'[A-Z0-9_]+'", text
                    ):
                        wrong.append(f"{path.relative_to(ROOT)}:{call.lineno}: {text}")
    assert wrong == []


def test_languages_word_the_kinds_that_there_are():
    """The words come from a table, not from regular expressions over sentences."""
    from dsl.quadrants.errors import wording
    from dsl.tirx.errors import error_wording

    sources = [path.read_text() for name in ("core", "gpu", "tile") for path in (ROOT / "dsl" / name).rglob("*.py")]
    raised = {kind for text in sources for kind in re.findall(r'"([A-Z][A-Z0-9_]+)"', text)}
    for module in (wording, error_wording):
        assert set(module._TEMPLATES) - raised == set()
        assert "re" not in vars(module)


def local():
    pass


@pytest.mark.parametrize(
    "value, text",
    [
        (5, "5"),
        ("a <b>", "'a <b>'"),
        (None, "None"),
        ((1,), "(1,)"),
        ((int, [len]), "(the type int, [function `len`])"),
        ({"k": local}, "{'k': function `local`}"),
        (math, "the module math"),
        (local, "function `local`"),
        ([].append, "function `list.append`"),
        (object(), "object"),
        (collections.OrderedDict, "the type OrderedDict"),
        (Colour.RED, "Colour.RED"),
    ],
)
def test_a_value_of_the_authors_is_shown_without_addresses(value, text):
    assert shown(value) == text
    assert Phrase("must be a number, got {got!r}", got=value) == f"must be a number, got {text}"
