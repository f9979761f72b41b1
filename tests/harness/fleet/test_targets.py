"""Valid values of `--gpu-host`, and the one sentence for an invalid value."""

import pytest

from harness.fleet import targets
from harness.fleet.targets import BadTarget, Member, Target, parse, refuse_twins

POOLS = {"h100": ("p1:0-7", "p2:0-7"), "odd": ("p1:x",), "here": ("local",), "deep": ("pool:h100",)}


@pytest.mark.parametrize(
    "text, target",
    [
        ("p1", Target("p1", (Member("p1", "p1"),))),
        ("me@box", Target("me@box", (Member("me@box", "me@box"),))),
        ("p1:3", Target("p1", (Member("p1:3", "p1", (3,)),))),
        ("p1:0,2,5-7", Target("p1", (Member("p1:0,2,5-7", "p1", (0, 2, 5, 6, 7)),))),
        ("p1:all", Target("p1", (Member("p1:all", "p1", ()),))),
        ("local", Target("local", (Member("local", "local"),))),
    ],
)
def test_hosts_and_their_gpus(text, target):
    assert parse(text, {}) == target


def test_a_pool_is_one_target():
    pool = parse("pool:h100", POOLS)
    assert pool.is_pool and [(one.host, len(one.gpus)) for one in pool.members] == [("p1", 8), ("p2", 8)]
    assert pool.describe() == "pool:h100 (p1:0-7, p2:0-7)" and parse("p1:0", {}).describe() == "p1:0 (over SSH)"


@pytest.mark.parametrize(
    "text, why",
    [
        (
            "p1:x",
            "p1:x: 'x' is not a list of GPUs\nfix: write numbers and ranges, as in `p1:0-7` or `p1:0,2`, or `p1:all`",
        ),
        ("p1:", "`p1:` names no GPU after the colon\nfix: write `p1:0-7`, or `p1` for its first GPU"),
        ("slurm:", "`slurm:` names no partition\nfix: write `slurm:PARTITION`"),
        ("p1:1-", "p1:1-: '1-' is not a list of GPUs\n"),
        ("p1:\uff17", "p1:\uff17: '\uff17' is not a list of GPUs\n"),
        (":0", ":0: '0' is not a list of GPUs\nfix: write numbers and ranges, as in `p1:0-7`"),
        ("p1:7-0", "p1:7-0: the range 7-0 ends before it begins\nfix: write 0-7"),
        ("p1:0-999", "p1:0-999: GPU 999 is more than a host has\nfix: numbers begin at 0, as in nvidia-smi"),
        ("p1:0,0-3", "p1:0,0-3: GPU 0 is named twice\nfix: name it once"),
        ("local:0-3", "local:0-3: local is this machine and has one slot\nfix: write `local`, or make this machine"),
        ("pool:h10", "unknown pool 'h10': the pools are h100, odd, here, deep\nfix: write `pool:h100`"),
        (
            "pool:",
            "unknown pool '': the pools are h100, odd, here, deep\nfix: write [tool.repro.pools.NAME] in pyproject.toml with",
        ),
        ("pool:odd", "the pool odd: p1:x: 'x' is not a list of GPUs\n"),
        ("pool:here", "the pool here has 'local', which is not a host over SSH\nfix: name hosts, as in `p1:0-7`"),
        ("pool:deep", "the pool deep has 'pool:h100', which is not a host over SSH\n"),
    ],
)
def test_invalid_targets(text, why):
    with pytest.raises(BadTarget) as error:
        parse(text, POOLS)
    assert str(error.value).startswith(why)


def test_without_pools_the_error_shows_how_to_write_one():
    with pytest.raises(BadTarget) as error:
        parse("pool:h100", {})
    said = "unknown pool 'h100': pyproject.toml has none\nfix: write [tool.repro.pools.h100] in pyproject.toml with hosts = [\"p1:0-7\"]"
    assert str(error.value) == said


def test_one_name_is_one_target():
    refuse_twins([parse("p1:0", {}), parse("p2:0", {}), parse("pool:h100", POOLS)])
    with pytest.raises(BadTarget) as error:
        refuse_twins([parse("p1:0-3", {}), parse("p1:4-7", {})])
    assert str(error.value) == "p1 is named twice, as p1:0-3 and p1:4-7\nfix: name it once, as in `p1:0-3,4-7`"


def test_every_prefix_has_a_reader():
    assert set(targets.PREFIXES) >= {"pool:"}


@pytest.mark.parametrize("twice", ["p1:2-5", "p1:all", "p1"])
def test_a_pool_has_each_gpu_once(twice):
    with pytest.raises(BadTarget) as error:
        parse("pool:dup", {"dup": ("p1:0-3", "p2:0-3", twice)})
    said = f"the pool dup: p1:0-3 and {twice} have GPUs in common\nfix: name each GPU once"
    assert str(error.value) == said
    assert len(parse("pool:two", {"two": ("p1:0-3", "p1:4-5")}).members) == 2
