"""PTX of a kernel that is as small as can be: it stores a 7. For tests of what assembles, keeps and shows machine code."""

PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<2>;
	ld.param.b64 %rd1, [p];
	st.global.b32 [%rd1], 7;
	ret;
}
"""
