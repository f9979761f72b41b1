"""An instruction form of a capsule is checked before its results are compared."""

import copy

import pytest

from harness.capsules import form_case
from harness.schema import Misfit
from tests.harness.capsules import hostile_results


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return hostile_results.Honest(tmp_path_factory.mktemp("forms"))


class Capsule:
    """A capsule's index, and the sizes of its blobs."""

    def __init__(self, honest):
        self.index, self.blobs = honest.index, honest.blobs

    def blob_bytes(self, name):
        return len(self.blobs[name])


def test_every_form_of_the_table_fits(honest):
    for case in honest.cases[:3]:
        form_case.check(Capsule(honest), case, {})
    assert form_case.models(Capsule(honest))["sm_90"] == "h100"


@pytest.mark.parametrize("change, said", [
    (lambda c: c.update(threads=0), "capsule.threads must be a whole number from 1 to 65536, got 0"),
    (lambda c: c.update(threads=7), "the arrays of the form do not hold the same whole number of units of 7 threads"),
    (lambda c: c.update(form="x" * 201), "capsule.form must be the name of an instruction form, got a text of 201"),
    (lambda c: c.update(form="`x`"), "capsule.form must be the name of an instruction form, got '`x`'"),
    (lambda c: c.update(results=[]), "the capsule has a form without results, operands or predictions"),
    (lambda c: c.update(results=["O"]), "capsule.results[0] must be a type such as <u4, got 'O'"),
    (lambda c: c.update(operands=["<u8", "<u4"]), "do not hold the same whole number of units"),
    (lambda c: c.update(rule={"dtype": "f32", "relative": 10**400}), "capsule.rule.relative must be a number from 0 to 1"),
    (lambda c: c.update(rule={"dtype": "f64"}), "the results of the form are not f64"),
    (lambda c: c.update(predictions={}), "the capsule has a form without results, operands or predictions"),
    (lambda c: c.update(predictions={"h100": []}), "the predictions of the form do not fill its results"),
    (lambda c: c["launches"][0]["regions"]["0"].update(size_bytes=1 << 40), "may have at most 16777216"),
    (lambda c: c["launches"][0].update(predicted={}), "the form does not predict its 1 results and nothing besides"),
    (lambda c: c["launches"].append(c["launches"][0]), "capsule.launches must be a list of 1, got a list of 2"),
    (lambda c: c["launches"][0]["writes"].update({"1": []}), "the form's operands in array 1 are not the bytes of one"),
    (lambda c: c["launches"][0].update(tensor_maps=[{"param": 99, "mode": "tiled", "arguments": {}}]), "in no parameter"),
])  # fmt: skip
def test_wrong_forms_are_refused(honest, change, said):
    case = copy.deepcopy(next(case for case in honest.cases if case.get("form") == "sub.u32"))
    change(case)
    with pytest.raises((Misfit, ValueError)) as caught:
        form_case.check(Capsule(honest), case, {})
    assert said in str(caught.value)
