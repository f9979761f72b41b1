"""The expectations of a repro for releases of NVIDIA's compiler: valid tables, and the errors of wrong ones."""

import pytest

from harness.claim.expectation import Expectations, Otherwise
from harness.claim.repro_file import ReproError, read

TEXT = '''# /// script
# [tool.repro]
# {line}
# ///
"""It is so."""
def run():
    return {{}}
'''
FIX = (
    '\nfix: write { rejected = "UNSUP_EARLY_EXIT" }, { outputs = { out = [1, 2] } } with the values that differ, or '
    '{ xfail = "why" }; or one of them for some releases: { "<4.7" = { rejected = "ID" }, ">=4.7" = "passes" }'
)
RELEASES = '\nfix: write releases as packages do: "<4.7", ">=4.7,<4.9", "==4.6.3"'


@pytest.fixture
def expectations(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def expectations(line: str) -> Expectations:
        (tmp_path / "one.py").write_text(TEXT.format(line=line))
        return read(tmp_path / "one.py").nvidia

    return expectations


def test_releases_have_their_own_expectations(expectations):
    of = expectations(
        'nvidia = { "<4.7" = { rejected = "E1" }, ">=4.7,<4.9" = { xfail = "wrong lane" }, ">=4.9" = "passes" }'
    ).of
    old, middle = Otherwise(rejected="E1", releases="<4.7"), Otherwise(xfail="wrong lane", releases=">=4.7,<4.9")
    releases = {
        "4.6.3": old,
        "4.7.0": middle,
        "4.8.1+cu13": middle,
        "4.9": None,
        "4.7.0rc1": middle,
        None: None,
        "x": None,
    }
    assert {release: of(release) for release in releases} == releases
    assert str(old) == 'nvidia = { "<4.7" = { rejected = "E1" } }'


def test_one_expectation_is_of_every_release(expectations):
    one = expectations('nvidia = { rejected = "E1" }')
    assert one and one.of("4.6.3") == one.of(None) == Otherwise(rejected="E1")
    assert expectations("nvidia = { outputs = { out = [1] } }").of("1").outputs == {"out": [1]}
    assert not expectations("timeout = 3") and expectations("timeout = 3").of("4.6.3") is None


@pytest.mark.parametrize(
    "line, column, width, message",
    [
        ("nvidia = 3", 3, 6, "has none of `rejected`, `outputs` and `xfail`" + FIX),
        ('nvidia = { reject = "E" }', 3, 6, "has none of `rejected`, `outputs` and `xfail`" + FIX),
        ("nvidia = { rejected = 3 }", 3, 6, "has rejected = 3, which is not a diagnostic id" + FIX),
        ('nvidia = { "<4.7" = { xfail = "" } }', 14, 6, "has xfail = '', which gives no reason" + FIX),
        ('nvidia = { "<4.7" = "fails" }', 14, 6, "has none of `rejected`, `outputs` and `xfail`" + FIX),
        ('nvidia = { "<<4.7" = "passes" }', 14, 7, "is no releases" + RELEASES),
        ('nvidia = { "4.7" = { xfail = "no" } }', 14, 5, "is no releases" + RELEASES),
        ('nvidia = { "<4.9" = { xfail = "no" }, ">=4.7" = "passes" }', 41, 7, 'and "<4.9" both name release 4.7'
         '\nfix: write ">=4.7" so that it leaves out the releases of "<4.9"'),
        ('nvidia = { ">4" = { xfail = "no" }, "<5" = "passes" }', 39, 4, 'and ">4" both name release 4.0.0.1'
         '\nfix: write "<5" so that it leaves out the releases of ">4"'),
    ],
)  # fmt: skip
def test_errors_are_shown_in_the_authors_line(expectations, line, column, width, message):
    with pytest.raises(ReproError) as error:
        expectations(line)
    carets = " " * (column - 1) + "^" * width
    assert str(error.value) == f"one.py:3:{column}: BAD_NVIDIA\n    # {line}\n    {carets} {message}"
