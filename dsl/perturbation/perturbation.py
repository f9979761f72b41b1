"""The change of the PTX that a device loads: the delays of a seed, or of a list."""

from __future__ import annotations

from dataclasses import dataclass, field

from dsl.perturbation import delays as lists
from dsl.perturbation.choice import chosen
from dsl.perturbation.delays import Delays
from dsl.perturbation.insertion import Insertion, insertions, refuse_older, with_insertions
from dsl.perturbation.sites import sites


@dataclass
class Perturbation:
    """The delays of `seed` where no list is given. `sites` counts the sites of the modules that were loaded."""

    seed: int = 0
    delays: Delays | None = None
    sites: int = 0
    modules: int = 0
    noted: dict[str, str] = field(default_factory=dict)  # the delays of each module, described

    @property
    def order(self) -> int:
        """The seed of the emulator's order of threads; 0: in turn."""
        return (self.seed if self.seed % 2 else 0) if self.delays is None else self.delays.order

    def applied(self, ptx: str) -> str:
        """The module with its delays. Raises delays.BadDelays, statements.BadPtx."""
        return with_insertions(ptx, self.insertions(ptx))

    def insertions(self, ptx: str) -> list[Insertion]:
        """The insertions into a module, by offsets in its text. Raises delays.BadDelays, statements.BadPtx."""
        refuse_older(ptx)
        places = sites(ptx)
        mine = chosen(places, self.seed) if self.delays is None else self.delays
        found = insertions(ptx, places, mine.items)
        self.modules += 1
        if ptx not in self.noted:
            self.sites += len(places)
            here = {site.function for site in places}
            self.noted[ptx] = Delays(tuple(item for item in mine.items if item.function in here)).described(places)
        return found

    def described(self) -> str:
        """The list of all delays in use, one a line, which `parse` takes."""
        order = [f"order {self.order}"] if self.order else []
        return "\n".join([*order, *filter(None, self.noted.values())])


def of(text: str) -> Perturbation:
    """`seed 5`, or a list of delays. Raises delays.BadDelays."""
    head, _, rest = text.strip().partition(" ")
    if head == "seed" and rest.strip().isdecimal():
        return Perturbation(int(rest))
    return Perturbation(delays=lists.parse(text))
