"""Lists of delays as text."""

import pytest

from dsl.perturbation.delays import BadDelays, Delay, Delays, parse
from dsl.perturbation.sites import Site

LIST = """order 5
k 12 before 800 ns warps 3/8  # st.shared.b32 [%r1], 0; a.py:3
k 12 after 1 ns warp 2 block 0; k 1 before 7 ns warp 2
k 2 after 9ns block 1; _Z1kPf$x 3 before 1000000 ns all
"""


def test_a_list_is_read_and_written():
    read = parse(LIST)
    assert read.order == 5 and len(read.items) == 5
    assert read.items[0] == Delay("k", 12, "before", 800, 3, 8)
    assert read.items[1] == Delay("k", 12, "after", 1, warp=2, block=0)
    assert parse(str(read)) == read
    assert parse(read.described([])) == read


def test_each_subset_of_a_list_is_a_list():
    lines = str(parse(LIST)).split("; ")
    for left_out in range(len(lines)):
        rest = lines[:left_out] + lines[left_out + 1 :]
        assert str(parse("\n".join(rest))) == "; ".join(rest)


def test_a_description_names_the_instruction_and_the_line():
    site = Site(2, "k", 0, 9, "bar.sync 0;", "a.py:3")
    assert (
        Delays((Delay("k", 2, "after", 9),), 3).described([site]) == "order 3\nk 2 after 9 ns all  # bar.sync 0; a.py:3"
    )


FORM = "KERNEL SITE before|after N ns all | warps G/GROUPS | warp W | block B | warp W block B"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k 12 800 ns all", f"a delay must read `{FORM}`, got `k 12 800 ns all`"),
        ("k 12 before 800 ns", f"a delay must read `{FORM}`, got `k 12 before 800 ns`"),
        ("k 1 before 0 ns all", "a delay must be 1 to 1000000 ns, got 0 in `k 1 before 0 ns all`"),
        (
            "k 1 before 9 ns warps 3/6",
            "warps G/GROUPS takes a power of two and a group below it, got `k 1 before 9 ns warps 3/6`",
        ),
        (
            "k 1 before 9 ns warps 4/4",
            "warps G/GROUPS takes a power of two and a group below it, got `k 1 before 9 ns warps 4/4`",
        ),
    ],
)
def test_text_that_is_not_a_delay_is_refused(text, message):
    with pytest.raises(BadDelays) as caught:
        parse(text)
    assert str(caught.value) == message


def test_groups_share_out_all_warps():
    for groups in (2, 4, 8):
        for warp in range(8):
            for block in range(8):
                of = [Delay("k", 1, "before", 1, group, groups).is_for(warp, block) for group in range(groups)]
                assert sum(of) == 1
    one = Delay("k", 1, "before", 1, warp=2, block=3)
    assert [(w, b) for w in range(5) for b in range(5) if one.is_for(w, b)] == [(2, 3)]
