"""One way to a terminal: nothing that it obeys or that a reader cannot see passes, whatever door the text comes to."""

import ast
import re
import sys
import unicodedata
from pathlib import Path

import pytest

import harness
from harness.terminal import markdown, one_line, printable, say

HOSTILE = "\x1b]0;owned\x07\x1b[2Ja\u202eb\u200bc\u2066d\ufeffe\x9bf\ud800g\u2028h\u3164i\r"
SPELT = r"\x1b]0;owned\x07\x1b[2Ja\u202eb\u200bc\u2066d\ufeffe\x9bf\ud800g\u2028h\u3164i\r"
HERE = Path(harness.__file__).parent
BESIDE_A_REPRO = {"replay.py", "runner.py", "supervisor.py", "agent.py", "remote_env.py"}  # print nothing of others'


@pytest.mark.slow
def test_no_character_that_a_terminal_obeys_or_nobody_sees():
    """Over all of Unicode: what is left is visible, a space, a tab or a line's end; the rest is ASCII that names it."""
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    shown = [printable(character) for character in every]
    for character in (one for one, said in zip(every, shown, strict=True) if said == one):
        assert character in "\n\t " or unicodedata.category(character)[0] not in "CZ", ascii(character)
    spelt = {one: said for one, said in zip(every, shown, strict=True) if said != one}
    assert {"\x1b", "\u202e", "\u200b", "\ufeff", "\u2028", "\x9b", "\r", "\ud800"} <= spelt.keys()
    assert all(said.isascii() and said.startswith("\\") for said in spelt.values())
    assert "".join(spelt.values()).encode().decode("unicode_escape") == "".join(spelt)


def test_text_stays_text():
    text = "claims hold:\n\tµ-kernel ≤ 3 ulp, 日本語, é, \\x1b as it is written\r\nend"
    assert printable(text) == text.replace("\r\n", "\n") and printable(printable(HOSTILE)) == SPELT
    assert one_line("a\nb\tc") == r"a\nb\tc"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_say_prints_to_any_terminal(tmp_path, encoding):
    with open(tmp_path / "out", "w", encoding=encoding) as file:
        say(f"µ ≤ {HOSTILE}", file)
    shown = (tmp_path / "out").read_bytes().decode(encoding)
    assert shown.endswith(SPELT + "\n") and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)


def test_nothing_of_ours_prints_by_another_way():
    """Only `terminal.say` prints in the package, and the programs that run with a repro, which print only their own text."""
    found = []
    for path in sorted(HERE.glob("*.py")):
        if path.name in BESIDE_A_REPRO | {"terminal.py"}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id == "print":
                found.append(f"{path.name}:{node.lineno}")
            if isinstance(called, ast.Attribute) and called.attr in ("write", "writelines"):
                owner = ast.unparse(called.value)
                if owner in ("sys.stdout", "sys.stderr"):
                    found.append(f"{path.name}:{node.lineno}")
    assert found == []


HOSTILE_REPRO = '''
# /// script
# [tool.repro]
# timeout = "\u202e\x1b[2J"
# ///
"""\u202eA claim.\x1b]0;owned\x07"""
def run(): raise ValueError("\u202e\x1b[2J")
'''


@pytest.mark.slow
def test_pytest_and_the_command_show_no_hostile_text(repros, pytester, monkeypatch, capsys):
    """A claim, an exception, what is printed, an error of the file itself: at the doors of pytest and of `repro`."""
    from harness import cli

    body = f"""
    import sys
    def run():
        print({HOSTILE.replace(chr(0xD800), "")!r}); print("\\u202e", file=sys.stderr)
        raise ValueError("\\x1b[2J\\u202e{HOSTILE[1]}")
    """
    folder = repros(one=body)
    text = (folder / "one.py").read_text().replace('"""It is so."""', '"""It \u202eis\x1b[2J so."""')
    (folder / "one.py").write_text(text)
    (folder / "two.py").write_text(HOSTILE_REPRO.lstrip())
    shown = pytester.runpytest_subprocess("repros", "-rA", "--continue-on-collection-errors").stdout.str()
    monkeypatch.chdir(pytester.path)
    for name in ("one", "two"):
        cli.main(["run", f"repros/{name}.py"])
    for command in (["status"], ["history", "one"], ["review"]):
        cli.main(command)
    said = capsys.readouterr()
    for text in (shown, said.out, said.err):
        bad = re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)
        assert not bad, bad
        assert r"\u202e" in text
    assert r"claim: It \u202eis\x1b[2J so." in said.out and r"ValueError: \x1b[2J\u202e" in shown


def test_headers_that_ask_for_too_much(write):
    """Numbers of thousands of digits, deep lists, endless cases, names that lead out of a folder: errors of the file."""
    from harness.claim.repro_file import ReproError

    body = "def run(**k): ..."
    many = ", ".join(f"p{n} = [{', '.join(map(str, range(100)))}]" for n in range(9))
    deep = "[" * 5000 + "]" * 5000
    for table, said in (
        (f"runs = {'9' * 5000}", "BAD_TOML"), (f"params = {deep}", "BAD_TOML"), (f"params = {{ {many} }}", "make 1"),
        ('params = { "../x" = [1] }', "is not a parameter"), (f"params = {{ a = [{'9' * 4000}] }}", "BAD_PARAMS"),
        ('compare = { o = "rel:1e999" }', "BAD_COMPARE"), ('compare = { o = "rel:-1" }', "BAD_COMPARE"),
        (f'arch = "sm_{"9" * 5000}"', "BAD_ARCH"),
    ):  # fmt: skip
        with pytest.raises(ReproError, match=said):
            write(body, table)
    with pytest.raises(ReproError, match="SYNTAX_ERROR"):
        write(f"x = {'-' * 100_000}1\n{body}")


@pytest.mark.parametrize("text", [
    "a | b", "`code` ``two``", "*a* **b** _c_ __d__ ~~e~~", "<b>x</b> <!-- y -->", "[a](http://b) ![c](d)", "a\\*b\\", "&lt; &#60;",
    "http://a.b www.a.b me@a.b", "# a\n- b\n1. c", "a\u202eb\x1b[2J", "$x$ #12", "snake_case_name sm_100, 580.65.06 (x) + - ! {y}",
])  # fmt: skip
def test_text_in_markdown_is_only_text(text):
    """Each mark of Markdown follows a backslash, and the text without the backslashes is the original text."""
    shown = markdown(text)
    assert "\n" not in shown and shown.isprintable()
    assert re.sub(r"\\([\\`*\[\]<>|#&~@$_:.])", r"\1", shown) == one_line(text)
    unescaped = re.sub(r"\\.", "-", shown)
    assert not re.search(r"[`*\[\]<>|#&~@$]|://|www\.|(?<![^\W_])_|_(?![^\W_])", unescaped)


def test_ordinary_names_stay_as_they_are():
    for text in ("NVIDIA H100 80GB HBM3, driver 580.65.06", "the PTX is for sm_100, but this GPU is sm_90", "a: b (c)"):
        assert markdown(text) == text
