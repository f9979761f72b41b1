"""Names of outputs, and where they are taken."""

from harness.adopt import plan
from harness.adopt.prints import Piece, Site


def event(
    place: int, piece: int = 0, site: int = 0, how: str | None = "", named: dict | None = None, **scope: object
) -> dict:
    return {"site": site, "piece": piece, "how": how, "place": place, "named": named or {}, "scope": scope}


def test_one_name_for_one_value():
    sites = [Site(1, 0, [Piece("x", ("x",), "x")]), Site(2, 0, [Piece("x", ("x",), "x")])]
    assert plan.make(sites, [event(0), event(0, site=1)]).values == {"x": 0}
    assert plan.make(sites, [event(0), event(0, site=1)]).sites == {0, 1}
    assert plan.make(sites, [event(0), event(1, site=1)]).values == {"x": 0, "x_2": 1}


def test_a_scope_that_tells_executions_apart():
    site = Site(1, 0, [Piece("x", ("x",), "x")], in_loop=True, scope=("w", "k"))
    made = plan.make([site], [event(0, w=8, k="a"), event(1, w=8, k="b")])
    assert made.values == {"x_a": 0, "x_b": 1} and made.outputs[0].key == "x_{k}"
    made = plan.make([site], [event(0, w=8, k="a"), event(1, w=8, k="b"), event(2, w=9, k="a")])
    assert list(made.values) == ["x_8_a", "x_8_b", "x_9_a"]
    made = plan.make([site], [event(0, w=8), event(1, w=8)])
    assert list(made.values) == ["x_0", "x_1"] and made.outputs[0].key == "x_{COUNT}"


def test_elements_of_an_array_that_stays():
    site = Site(1, 0, [Piece("x[i]", ("x", "i"), "x")], in_loop=True, scope=("i",))
    same = [event(1, named={"x": [0, "", ".copy()"]}, i=0), event(2, named={"x": [0, "", ".copy()"]}, i=1)]
    assert plan.make([site], same).values == {"x": 0} and plan.make([site], same).outputs[0].after_loop
    other = [same[0], event(2, named={"x": [3, "", ".copy()"]}, i=1)]
    assert plan.make([site], other).values == {"x_i_0": 1, "x_i_1": 2}


def test_text_made_of_arrays_gives_the_arrays():
    site = Site(1, 0, [Piece("f(x, y)", ("f", "x", "y"))])
    named = {"x": [0, "", ".copy()"], "y": [1, ".to_numpy()", ".clone()"]}
    made = plan.make([site], [event(0, how=None, named=named)])
    assert [output.taken for output in made.outputs] == ["x", "y.to_numpy()"]
