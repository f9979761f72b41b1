"""`filecheck(text, checks)`: FileCheck in this process."""

import io

import pytest


@pytest.fixture
def filecheck():
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import Options
    from filecheck.parser import Parser, pattern_for_opts

    def match(text: str, checks: str) -> None:
        options = Options("checks")
        parser = Parser(options, io.StringIO(checks), *pattern_for_opts(options))
        matcher = Matcher(options, FInput("text", text), parser)
        matcher.stderr = io.StringIO()
        assert matcher.run() == 0, matcher.stderr.getvalue() + "\n" + text

    return match
