"""Operations on layouts with dynamic extents and strides give the layouts that NVIDIA's compiler prints."""

from pathlib import Path

from tests.recorded import output, recorded

PROGRAM = Path(__file__).with_name("dynamic_layouts.py")
NOT_A_LAYOUT = ("refused", "x:x")
WRONG = {"(2,n):(1,3) complement n"}  # 3 is not a multiple of 2, and NVIDIA's compiler leaves the gap out


def lines(text: str) -> dict[str, str]:
    return dict(line.split(" | ") for line in text.splitlines())


def test_layouts_are_upstreams():
    theirs, ours = lines(recorded(PROGRAM)), lines(output(PROGRAM, "-m", "dsl", "--device", "emulator"))
    compared = [name for name, text in theirs.items() if text not in NOT_A_LAYOUT and name not in WRONG]
    assert len(compared) > 270
    assert {name: ours[name] for name in compared} == {name: theirs[name] for name in compared}
