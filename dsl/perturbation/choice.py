"""The delays that a seed means."""

from __future__ import annotations

import random
from collections.abc import Sequence

from dsl.perturbation.delays import Delay, Delays
from dsl.perturbation.sites import Site

NS = (100, 400, 1_600, 6_400, 25_600)
FEWEST, MOST = 1, 16  # delays of a kernel
GROUPS = (2, 4, 8)


def chosen(sites: Sequence[Site], seed: int) -> Delays:
    """The delays of a seed: the same ones for the same sites. Odd seeds also draw the emulator's order of threads.

    Half of the kernels get few long delays, half get many short ones: a race whose window is narrow shows under the
    former, one that takes several warps to be late shows under the latter. Seed 0 has no delays.
    """
    if not seed:
        return Delays()
    items: list[Delay] = []
    for function in dict.fromkeys(site.function for site in sites):
        mine = [site for site in sites if site.function == function]
        draw = random.Random(f"{seed} {function} {len(mine)}")
        few = draw.random() < 0.5
        count = draw.randint(FEWEST, 4) if few else draw.randint(4, MOST)
        places = [(site, when) for site in mine for when in ("before", "after")]
        picked = draw.sample(places, min(count, len(places)))
        for site, when in sorted(picked, key=lambda place: (place[0].number, place[1] == "after")):
            groups = draw.choice(GROUPS)
            ns = draw.choice(NS[2:] if few else NS[:4])
            items.append(Delay(function, site.number, when, ns, draw.randrange(groups), groups))
    return Delays(tuple(items), seed if seed % 2 else 0)
