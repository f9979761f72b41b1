"""What --perturb and --delays ask for."""

import pytest

from harness.errors import UsageError
from harness.perturb_options import Wanted, wanted


def test_seeds_from_one(tmp_path):
    assert wanted(3) == Wanted(3)
    assert Wanted(3).lists == [(1, "seed 1"), (2, "seed 2"), (3, "seed 3")]
    assert wanted(None) is None


def test_a_list_is_one_run(tmp_path):
    (tmp_path / "list").write_text("# the second store\nk 3 before 64 ns all\n")
    assert wanted(None, f"@{tmp_path / 'list'}").lists == [(None, "# the second store\nk 3 before 64 ns all\n")]
    assert wanted(None, "seed 5").lists == [(None, "seed 5")]


@pytest.mark.parametrize(
    ("runs", "delays", "message"),
    [
        (0, None, "--perturb must be 1 to 100000, got 0"),
        (-1, None, "--perturb must be 1 to 100000, got -1"),
        (None, "@nowhere", "--delays @nowhere cannot be read: [Errno 2] No such file or directory: 'nowhere'"),
        (None, "# none", "--delays must be a list of delays, got '# none' without any"),
        (2, "seed 1", "--perturb and --delays are given: --perturb draws its own delays, so leave one of them out"),
    ],
)
def test_wrong_usage(runs, delays, message):
    with pytest.raises(UsageError) as caught:
        wanted(runs, delays)
    assert str(caught.value) == message
