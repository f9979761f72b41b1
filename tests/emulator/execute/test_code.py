"""Properties of the machine code of an entry."""

import pytest

from dsl import emulator

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"
PRINTS = """.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .b8 text[3] = {72, 105, 0};
.visible .entry k() { .reg .b64 %a; .reg .b32 %r; mov.u64 %a, text; cvta.global.u64 %a, %a;
{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %a; st.param.b64 [v], 0;
call.uni (r), vprintf, (f, v); ld.param.b32 %r, [r]; } ret; }"""


@pytest.mark.parametrize(
    ("text", "meets", "prints"),
    [
        (".visible .entry k() { ret; }", False, False),
        (".visible .entry k() { bar.sync 0; ret; }", True, False),
        (PRINTS, False, True),
    ],
)
def test_code_records_whether_threads_meet_and_print(text, meets, prints):
    code = emulator.load(HEADER + text).code("k", 32)
    assert (code.meets, code.prints, code.block != 0) == (meets, prints, True)
