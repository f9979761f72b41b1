"""The kernel of a form: its whole text."""

import numpy as np

from dsl.forms.form import Form


def test_a_form_is_a_kernel_that_loads_computes_and_stores():
    form = Form("add.u32", "add.u32 %d0, %a0, %a1;", (np.zeros(128, "u4"), np.zeros(128, "u4")), ("u4",), least="80")
    assert (
        form.ptx
        == """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry form_add_u32(.param .u64 p_d0, .param .u64 p_a0, .param .u64 p_a1)
{
.reg .pred %p, %q;
.reg .b16 %h, %g;
.reg .b32 %i, %n, %w, %t, %u;
.reg .b64 %base, %off, %v;
.reg .b32 %d0;
.reg .b32 %a0;
.reg .b32 %a1;
mov.u32 %i, %ctaid.x;
mov.u32 %n, %ntid.x;
mov.u32 %w, %tid.x;
mad.lo.u32 %i, %i, %n, %w;
ld.param.u64 %base, [p_a0];
mul.wide.u32 %off, %i, 4;
add.u64 %base, %base, %off;
ld.global.b32 %a0, [%base];
ld.param.u64 %base, [p_a1];
mul.wide.u32 %off, %i, 4;
add.u64 %base, %base, %off;
ld.global.b32 %a1, [%base];
add.u32 %d0, %a0, %a1;
ld.param.u64 %base, [p_d0];
mul.wide.u32 %off, %i, 4;
add.u64 %base, %base, %off;
st.global.b32 [%base], %d0;
ret;
}
"""
    )


def heads(*forms: Form) -> list[list[str]]:
    return [form.ptx.splitlines()[:2] for form in forms]


def test_the_version_is_the_later_of_what_the_target_and_the_form_need():
    a = np.zeros(128, "u4")
    assert heads(*(Form("x", "", (a,), (), least=least) for least in ("90:7.0", "75:7.10", ""))) == [
        [".version 7.8", ".target sm_90"],
        [".version 7.10", ".target sm_75"],
        [".version 6.5", ".target sm_70"],
    ]


def test_target_and_version_are_those_that_its_instructions_need():
    """Numbers of the PTX ISA: mbarrier.init 9.7.13.15.9, redux 9.7.13.12, elect 9.7.13.14."""
    a = np.zeros(128, "u4")
    texts = ("redux.sync.add.u32 %d0, %a0, -1;", "@%q mbarrier.init.shared::cta.b64 [%u], 1;\nelect.sync %t|%p, -1;")
    assert heads(*(Form("x", text, (a,), ("u4",)) for text in texts)) == [
        [".version 7.0", ".target sm_80"],
        [".version 8.0", ".target sm_90"],
    ]
