"""The delays that a seed stands for."""

from dsl.perturbation.choice import GROUPS, MOST, chosen
from dsl.perturbation.delays import MOST_NS, Delays, parse
from dsl.perturbation.sites import Site

SITES = [Site(number, name, 0, 0, "bar.sync 0;", "") for name in ("k", "l") for number in range(1, 30)]


def test_a_seed_always_gives_the_same_delays_and_another_one_gives_others():
    assert chosen(SITES, 4) == chosen(list(SITES), 4)
    assert len({str(chosen(SITES, seed)) for seed in range(1, 50)}) == 49


def test_a_kernel_has_the_same_delays_whatever_else_its_module_holds():
    alone = chosen([site for site in SITES if site.function == "l"], 4)
    assert alone.items == tuple(item for item in chosen(SITES, 4).items if item.function == "l")


def test_delays_are_possible_and_can_be_written():
    for seed in range(1, 50):
        one = chosen(SITES, seed)
        assert parse(str(one)) == one and one.order == (seed if seed % 2 else 0)
        for name in ("k", "l"):
            items = [item for item in one.items if item.function == name]
            assert 1 <= len(items) <= MOST and all(1 <= item.ns <= MOST_NS and item.groups in GROUPS for item in items)


def test_seed_0_and_no_sites_give_no_delays():
    assert chosen(SITES, 0) == Delays() and chosen([], 4) == Delays()
