"""Choices of a generated program: drawn from its name, recorded, and made simpler one by one.

Generators list the simplest option of each choice first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any


class Choices:
    """Draws for the program of a name, after those that are given: numbers of options."""

    def __init__(self, name: str, given: Sequence[int] = ()):
        self.random, self.given, self.taken = random.Random(name), list(given), []

    def __call__(self, *options: Any) -> Any:
        """One of the options."""
        place = len(self.taken)
        number = self.given[place] % len(options) if place < len(self.given) else self.random.randrange(len(options))
        self.taken.append(number)
        return options[number]

    def order(self, count: int) -> tuple[int, ...]:
        """A permutation of 0 to count - 1."""
        left = list(range(count))
        return tuple(left.pop(self(*range(len(left)))) for _ in range(count))


def simplified(
    generate: Callable[[Choices], str], name: str, fails: Callable[[str], bool], tries: int = 60
) -> tuple[str, list[int]]:
    """The simplest program found that fails like the program of `name`, and its choices."""
    first = Choices(name)
    text, taken = generate(first), first.taken
    place = 0
    while place < len(taken) and tries > 0:
        for number in sorted({0, taken[place] // 2}):
            if number >= taken[place]:
                continue
            choices = Choices(name, [*taken[:place], number, *taken[place + 1 :]])
            candidate, tries = generate(choices), tries - 1
            if candidate != text and fails(candidate):
                text, taken = candidate, choices.taken
                break
        place += 1
    return text, taken
