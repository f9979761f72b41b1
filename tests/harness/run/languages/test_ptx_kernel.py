"""`.ptx` files as pytest runs them: numbers, arrays, rejected text and faults."""

from pathlib import Path

from harness.claim.repro_file import read
from harness.judge import run

TEXT = """// /// script
// [tool.repro]
// timeout = 30
// [tool.repro.ptx]
// block = [4]
// arguments = [
//   { name = "x", dtype = "float32", values = [1, 2.5, -3, 0] },
//   { dtype = "float32", value = 2 },
//   { dtype = "float16", value = 0.5 },
//   { name = "out", dtype = "float32", shape = [2, 2], expected = [2.5, 5.5, -5.5, 0.5] },
// ]
// ///
// It is so.
.version 8.0
.target sm_80
.address_size 64
.visible .entry axpb(.param .u64 x, .param .f32 a, .param .b16 b, .param .u64 out) {
  .reg .b32 %r;
  .reg .f32 %f<4>;
  .reg .b16 %h;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [x];
  ld.param.u64 %d2, [out];
  ld.param.f32 %f1, [a];
  ld.param.b16 %h, [b];
  cvt.f32.f16 %f2, %h;
  mov.u32 %r, %tid.x;
  mad.wide.u32 %d1, %r, 4, %d1;
  mad.wide.u32 %d2, %r, 4, %d2;
  ld.global.f32 %f3, [%d1];
  fma.rn.f32 %f3, %f3, %f1, %f2;
  st.global.f32 [%d2], %f3;
  ret;
}
"""


def test_kernels(tmp_path, embedded):
    host, transport = embedded
    file = tmp_path / "q.ptx"

    def outcome_of(old: str = "", new: str = ""):
        file.write_text(TEXT.replace(old, new, 1))
        return run(transport, next(read(file).cases()), host)

    right = outcome_of()
    assert (
        right.outputs["out"].values().tolist() == right.expected["out"].values().tolist() == [[2.5, 5.5], [-5.5, 0.5]]
    )
    assert [one["name"] for one in right.kernels] == ["axpb"]

    refused = outcome_of("%f3, %f1, %f2;", "%f3, %f1, nothing;")
    assert (refused.kind, refused.detail["id"]) == ("rejected", "INVALID_PTX")
    assert "PTX line 31: `nothing` is not declared" in refused.text

    wide = outcome_of("[%d2], %f3", "[%d2+64], %f3")
    assert wide.kind == "out_of_bounds" and "PTX line 32" in wide.text


def test_the_example_of_the_page(tmp_path, embedded):
    page = (Path(__file__).parents[4] / "docs/languages.md").read_text()
    (tmp_path / "q.ptx").write_text(
        page[page.index('// /// script\n// [tool.repro]\n// arch = "sm_80"') :].split("```")[0]
    )
    outcome = run(embedded[1], next(read(tmp_path / "q.ptx").cases()), embedded[0])
    assert outcome.outputs["out"].values().tolist() == outcome.expected["out"].values().tolist() == [96]
