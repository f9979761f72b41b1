"""Five small kernels with a race each, and the line that cures it. A block has 64 threads.

RACY: name -> (body with a {} for the cure, the cure, blocks). Each writes 64 or 128 words at `p`.
"""

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<19>; .reg .b64 %rd<9>; .reg .pred %q;
  .shared .align 8 .b32 s[128];
  .shared .align 8 .b64 m;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r1, %r3, %r2;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd2, %rd1, %rd2;
  mov.u32 %r5, s;
  shl.b32 %r6, %r2, 2;
  add.u32 %r7, %r5, %r6;
  xor.b32 %r8, %r6, 128;
  add.u32 %r8, %r8, %r5;
"""
TAIL = "  st.global.u32 [%rd2], %r9;\n  ret;\n}\n"
RACY = {
    # The other warp's word is read before or after it is written.
    "exchange": ("st.shared.u32 [%r7], %r4;\n  {}\n  ld.shared.u32 %r9, [%r8];\n", "bar.sync 0;", 1),
    # A buffer is filled again while the other warp may still read it.
    "second_fill": (
        "st.shared.u32 [%r7], 1;\n  bar.sync 0;\n  ld.shared.u32 %r9, [%r8];\n  {}\n  st.shared.u32 [%r7], 2;\n",
        "bar.sync 0;", 1,
    ),
    # Two steps of a sum over the warps, with no barrier after the first.
    "sum": (
        "st.shared.u32 [%r7], 1;\n  bar.sync 0;\n  ld.shared.u32 %r9, [%r8];\n  {}\n  add.u32 %r9, %r9, 1;\n"
        "  st.shared.u32 [%r7], %r9;\n  bar.sync 0;\n  ld.shared.u32 %r9, [%r8];\n",
        "bar.sync 0;", 1,
    ),
    # A consumer does not wait for the phase that the producer completes.
    "phase": (
        "mov.u32 %r10, m;\n  setp.eq.u32 %q, %r2, 0;\n  @%q mbarrier.init.shared.b64 [%r10], 32;\n  bar.sync 0;\n"
        "  setp.lt.u32 %q, %r2, 32;\n  @%q bra WRITE;\n  {}\n  bra READ;\n"
        "WRITE: st.shared.u32 [%r7], 7;\n  mbarrier.arrive.shared.b64 %rd3, [%r10];\n  bra DONE;\n"
        "READ: ld.shared.u32 %r9, [%r8];\nDONE:\n",
        "WAIT: mbarrier.try_wait.parity.shared.b64 %q, [%r10], 0;\n  @!%q bra WAIT;", 1,
    ),
    # Blocks count what they are with a load and a store, and lose counts.
    "blocks": (
        "setp.ne.u32 %q, %r2, 0;\n  @%q bra LAST;\n  {}\n  ld.global.u32 %r10, [%rd1+1024];\n  add.u32 %r10, %r10, 1;\n"
        "  st.global.u32 [%rd1+1024], %r10;\nLAST: mov.u32 %r9, 0;\n",
        "atom.global.add.u32 %r10, [%rd1+1024], 1;\n  bra LAST;", 2,
    ),
}  # fmt: skip


def ptx(name: str, cured: bool = False) -> str:
    """The kernel `k`, with its race or without it."""
    body, cure, _ = RACY[name]
    return f"{HEAD}  {body.format(cure if cured else '')}{TAIL}"
