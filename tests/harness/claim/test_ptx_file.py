"""The block of a .ptx file: the launch, and the complaints about it."""

import pytest

from harness.claim.repro_file import ReproError, read

KERNEL = ".visible .entry one(.param .u64 out) { ret; }\n"
OUT = '{ name = "out", dtype = "int32", shape = [2, 3] }'


def ptx(path, *table: str, text: str = KERNEL, more: tuple[str, ...] = ()):
    file = path / "q.ptx"
    lines = ["/// script", "[tool.repro]", *more, "[tool.repro.ptx]", *table, "///", "It is so."]
    file.write_text("".join(f"// {line}\n" for line in lines) + text)
    return file


def test_the_launch(tmp_path):
    values = '{ name = "x", dtype = "uint8", values = [255, 0], output = true }'
    number = '{ dtype = "float32", value = 2 }'
    repro = read(ptx(tmp_path, "block = [32, 2]", "shared_bytes = 64", f"arguments = [{OUT}, {values}, {number}]"))
    launch = repro.launch
    assert (repro.claim, launch["entry"], launch["grid"], launch["block"]) == (
        "It is so.",
        "one",
        [1, 1, 1],
        [32, 2, 1],
    )
    assert [one.get("output") for one in launch["arguments"]] == [True, True, None]
    assert (launch["arguments"][1]["shape"], launch["shared_bytes"], repro.has_expected) == ([2], 64, False)


def test_rules_and_expected_values_are_as_in_python(tmp_path):
    out = '{ name = "out", dtype = "int32", shape = [1], expected = [7] }'
    repro = read(ptx(tmp_path, f"arguments = [{out}]", more=('compare = { out = "ulp:1" }', "runs = 3")))
    assert repro.has_expected and repro.runs == 3 and str(repro.compare["out"]) == "ulp:1"


def test_the_entry_is_chosen_by_name(tmp_path):
    two = KERNEL + KERNEL.replace("one", "two")
    assert read(ptx(tmp_path, 'entry = "two"', f"arguments = [{OUT}]", text=two)).launch["entry"] == "two"


COMPLAINTS = {
    "no launch": ("NO_LAUNCH", None),
    "unknown key": ("UNKNOWN_KEY", ["threads = [1]"]),
    "no arguments": ("has no output", []),
    "not tables": ("is not a list of tables", ["arguments = [1]"]),
    "no output": ("has no output", ['arguments = [{ dtype = "int32", value = 1 }]']),
    "dtype": ("has the dtype 'f32'", ['arguments = [{ name = "x", dtype = "f32", shape = [1] }]']),
    "two of one name": ("has a name twice", [f"arguments = [{OUT}, {OUT}]"]),
    "no shape": ("has no shape", ['arguments = [{ name = "x", dtype = "int32" }]']),
    "huge": ("has no shape", ['arguments = [{ name = "x", dtype = "int32", shape = [100000, 100000] }]']),
    "out of range": ("not 1 numbers of uint8", ['arguments = [{ name = "x", dtype = "uint8", values = [256] }]']),
    "too few": ("not 2 numbers", ['arguments = [{ name = "x", dtype = "int8", shape = [2], expected = [1] }]']),
    "array key": ("has the key size", ['arguments = [{ name = "x", dtype = "int8", size = 2 }]']),
    "no name": ("has no name", ['arguments = [{ dtype = "int8", shape = [2] }]']),
    "bool": ("is not a number", ['arguments = [{ dtype = "int8", value = true }]']),
    "block": ("BAD_LAUNCH", ["block = [0]", f"arguments = [{OUT}]"]),
    "shared": ("BAD_LAUNCH", ["shared_bytes = -1", f"arguments = [{OUT}]"]),
    "entry": ("has the kernels one", ['entry = "none"', f"arguments = [{OUT}]"]),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaint(tmp_path, name):
    said, table = COMPLAINTS[name]
    file = ptx(tmp_path, *(table or []))
    if table is None:
        file.write_text(file.read_text().replace("// [tool.repro.ptx]\n", ""))
    with pytest.raises(ReproError) as error:
        read(file)
    assert said in str(error.value) and "\nfix: " in str(error.value)


def test_a_predicate_needs_python(tmp_path):
    with pytest.raises(ReproError, match="which the file does not define"):
        read(ptx(tmp_path, f"arguments = [{OUT}]", more=('compare = { out = "pred:good" }',)))


def test_params_are_for_python(tmp_path):
    with pytest.raises(ReproError, match="NOT_FOR_PTX"):
        read(ptx(tmp_path, f"arguments = [{OUT}]", more=("params = { n = [1] }",)))
