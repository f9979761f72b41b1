"""Calls of compiled TIRx functions of tvm and tvm_tirx, from the program to a file that does what the program did."""

from pathlib import Path

from tests.harness.capture.commands import capture

PROGRAM, OF_TVM_TIRX = (Path(__file__).with_name(f"program_of_{name}.py") for name in ("tirx", "tvm_tirx"))


def captured(folder: Path, *options: str, program: Path = PROGRAM) -> str:
    status, said, told = capture(folder, *options, "-o", "x.py", program=("python", str(program)))
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


def test_a_function_of_tvm_tirx(tmp_path):
    text = captured(tmp_path, "--kernel", "double", program=OF_TVM_TIRX)
    assert '# dependencies = ["apache-tvm-tirx", "numpy' in text
    assert 'n = T.dynamic("n")' in text and "\nimport tvm\n" not in text and "filled" not in text
    assert 'A = tvm_tirx.runtime.tensor(np.arange(8, dtype="int32"), device=tvm_tirx.cuda(0))' in text
    assert (
        'compiled = tvm_tirx.tirx.compile(double, target=tvm_tirx.target.Target({"kind": "cuda", "arch": "sm_90a"}))'
        in text
    )


def test_constants_of_a_jit_function_of_tvm_tirx(tmp_path):
    assert "tvm_tirx.tirx.compile(filled.specialize(N=5), " in captured(tmp_path, "--call", "2", program=OF_TVM_TIRX)
