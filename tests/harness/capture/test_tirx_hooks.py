"""Calls of compiled TIRx functions, from the program to a file that does what the program did."""

from pathlib import Path

from tests.harness.capture.commands import capture

PROGRAM = Path(__file__).with_name("program_of_tirx.py")


def captured(folder: Path, *options: str) -> str:
    status, said, told = capture(folder, *options, "-o", "x.py", program=("python", str(PROGRAM)))
    assert status == 0, said + told
    return (folder / "x.py").read_text()


def test_a_function_with_its_tensors(tmp_path):
    text = captured(tmp_path, "--kernel", "double")
    assert 'a = tvm.runtime.tensor(np.arange(8, dtype="int32"), device=tvm.cuda(0))' in text
    assert 'target=tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}), tir_pipeline="tirx")' in text
    assert 'compiled(3, a, b)\n    return {"b": b.numpy()}' in text
    assert "twice" not in text and "filled" not in text


def test_constants_of_a_jit_function(tmp_path):
    text = captured(tmp_path, "--call", "2")
    assert '"main": filled.specialize(N=5)' in text
    assert 'out = tvm.runtime.tensor(np.zeros((8,), "float32").reshape((2, 4)), device=tvm.cuda(0))' in text
