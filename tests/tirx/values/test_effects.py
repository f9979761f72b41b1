"""Effects are noted by every watch around, and by none that has ended."""

import pytest

from dsl.tirx.values import effects


def test_an_effect_is_noted_by_all_watches_around_it():
    with effects.watched() as outer:
        with effects.watched() as quiet:
            pass
        with effects.watched() as inner:
            effects.note()
        with effects.watched() as later:
            pass
    effects.note()
    assert [watch.has_effects for watch in (outer, quiet, inner, later)] == [True, False, True, False]


def test_a_noted_function_is_itself_and_notes_each_call():
    @effects.noted
    def store(x, *, twice=False):
        """Stores."""
        return x * 2 if twice else x

    with effects.watched() as watch:
        assert not watch.has_effects
        assert store(3, twice=True) == 6 and watch.has_effects
    assert (store.__name__, store.__doc__) == ("store", "Stores.")
    with effects.watched() as watch, pytest.raises(TypeError):
        store()
    assert watch.has_effects
