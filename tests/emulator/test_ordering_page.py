"""The generated parts of docs/checkers.md are current."""

from tests.emulator import ordering_page


def test_the_page_is_current():
    text = ordering_page.PAGE.read_text()
    assert text == ordering_page.page(text), f"write it again: {ordering_page.COMMAND}"
    assert {part for _, part, _ in ordering_page.MARK.findall(text)} == ordering_page.PARTS.keys()
