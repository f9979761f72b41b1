"""The author's names for the results of an op: a comma-separated text that follows its results."""

from dsl.core.control_flow.text import result_names
from dsl.core.ir import mlir
from dsl.cutlass import Int32


def texts(attributes: dict) -> dict:
    return {name: attribute.value for name, attribute in attributes.items()}


def test_names_follow_the_results_that_are_left():
    with mlir.context:
        attributes = result_names.of_values(["x", "s.items", "a,b"])
        assert texts(attributes) == {"dsl.names": "x,s.items,a_b"}
        assert texts(result_names.kept(attributes, [2, 0])) == {"dsl.names": "a_b,x"}
        assert result_names.kept({}, [0]) == {}


def branch(n: Int32):
    first, pair = Int32(1), [Int32(2), Int32(3)]
    if n < 4:
        first = n
        pair[1] = n + 1
    from dsl.gpu import inline

    inline.ptx("// $0 $1;", None, "r,r", first, pair[1])


def test_a_branch_names_variables_and_slots(traced):
    text = traced(branch)
    names = [line.split('dsl.names = "')[1].split('"')[0] for line in text.splitlines() if "dsl.names" in line]
    assert sorted(names[-1].split(",")) == ["first", "pair[1]"]
