"""Generated products of warpgroups: types, major modes, swizzles, A from registers, several blocks of K and stages, sums
that are kept or not.

Values are small integers, so that sums are exact in every type.
"""

from __future__ import annotations

from tests.fuzz.kernels.choices import Choices
from tests.fuzz.kernels.text import BFLOAT16, FLOAT16, FLOAT32, HEAD, INT8, INT32, UINT8, Type

E4M3, E5M2 = Type("Float8E4M3FN", "torch.float8_e4m3fn", 8), Type("Float8E5M2", "torch.float8_e5m2", 8)
# (operation, A, B, sums)
PRODUCTS = tuple(
    [("MmaF16BF16Op", FLOAT16, FLOAT16, FLOAT32), ("MmaF16BF16Op", BFLOAT16, BFLOAT16, FLOAT32), ("MmaF16BF16Op", FLOAT16, FLOAT16, FLOAT16)]
    + [("MmaI8Op", a, b, INT32) for a in (INT8, UINT8) for b in (INT8, UINT8)]
    + [("MmaF8Op", a, b, c) for a in (E4M3, E5M2) for b in (E4M3, E5M2) for c in (FLOAT32, FLOAT16)]
)  # fmt: skip

TEXT = """
SHAPE, STAGES = ({m}, {n}, {k}), {stages}


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, start: cutlass.Int32, blocks: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    op = {op}
    mma, smem = cute.make_tiled_mma(op{atoms}), cutlass.memory.SmemAllocator()
    rows_a = {layout_a}
    rows_b = {layout_b}
    s_a = smem.allocate_tensor({type_a}, rows_a.outer, 1024, rows_a.inner)
    s_b = smem.allocate_tensor({type_b}, rows_b.outer, 1024, rows_b.inner)
    for i in range(thread, {m} * {k}, {threads}):
        s_a[i % {m}, i // {m} % {k}{at_stage}] = a[i % {m}, i // {m} % {k}]
    for i in range(thread, {n} * {k}, {threads}):
        s_b[i % {n}, i // {n} % {k}{at_stage}] = b[i % {n}, i // {n} % {k}]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    mine = mma.get_slice({slice})
{operand_a}
    in_b = mma.make_fragment_B(mine.partition_B(s_b))
    part = mine.partition_C(c)
    sums = mma.make_fragment_C({sums_of})
{before}
    warpgroup.fence()
{products}
    warpgroup.commit_group()
    warpgroup.wait_group(0)
{after}


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, start: cutlass.Int32, blocks: cutlass.Int32):
    kernel(a, b, c, start, blocks).launch(grid=(1, 1, 1), block=({threads}, 1, 1))


def given():
    m, n, k = SHAPE
    return numbers(m * k, {low_a}, {high}, {seed}).reshape(m, k), numbers(n * k, {low_b}, {high}, {seed} + 1).reshape(n, k)


def view(tensor, dtype):
    if tensor.dtype not in (torch.float8_e4m3fn, torch.float8_e5m2):
        return from_dlpack(tensor, assumed_align=16)
    made = from_dlpack(tensor.view(torch.uint8), assumed_align=16)
    made.element_type = dtype
    return made


def run():
    a, b = given()
    a, b = device(a, {torch_a}), device(b, {torch_b})
    c = device(np.full(({m}, {n}), 99), {torch_c}, {stride_c})
    host(view(a, {type_a}), view(b, {type_b}), from_dlpack(c, assumed_align=16), {start}, {k_blocks})
    return {{"c": plain(c)}}


def expected():
    a, b = given()
    return {{"c": {result}}}
"""

FROM_SMEM = "    in_a = mma.make_fragment_A(mine.partition_A(s_a))"
FROM_REGISTERS = """\
    from_a = mine.partition_A(a)
    in_a = {made}
    {fill}"""
BY_ELEMENT = "for i in cutlass.range_constexpr(cute.size(in_a)):\n        in_a[i] = from_a[i]"
BY_BLOCK = """\
    for k in {loop}:
        cute.gemm(mma, sums, in_a[None, None, k{stage_a}], in_b[None, None, k{stage_b}], sums)
{more}"""
WHOLE = "    cute.gemm(mma, sums, in_a[None, None, None{stage_a}], in_b[None, None, None{stage_b}], sums)"


def program(pick: Choices) -> str:
    op, a, b, c = pick(*PRODUCTS)
    wide = 16 if op == "MmaF16BF16Op" else 32
    k_blocks = pick(1, 2, 3, 4)
    k = wide * k_blocks
    atoms = pick((1, 1, 1), (2, 1, 1), (1, 2, 1))
    n_atom = pick(*((8, 16, 24, 32, 40, 64, 96, 128) if op != "MmaI8Op" else (8, 16, 24, 32, 48, 64, 96)))
    m, n = 64 * atoms[0] * pick(1, 1, 2), n_atom * atoms[1] * pick(1, 1, 2)
    from_registers = pick(False, False, True)
    majors = ["K" if wide == 32 or (side == 0 and from_registers) else pick("K", "MN") for side in (0, 1)]
    stages = pick(0, 2, 3)
    stage = pick(*range(stages or 1))
    layouts = [
        _layout(pick, kind, (rows, k), major, stages, atom)
        for kind, rows, major, atom in ((a, m, majors[0], 64), (b, n, majors[1], n_atom))
    ]
    source = "warpgroup.OperandSource." + ("RMEM" if from_registers else "SMEM")
    types = f"{a}, {c}" if op == "MmaF16BF16Op" else f"{a}, {b}, {c}"
    ways = ", ".join(f"OperandMajorMode.{major if major == 'K' else 'MN'}" for major in majors)
    stage_b = f", {stage}" if stages else ""
    stage_a = "" if from_registers else stage_b
    threads = 128 * atoms[0] * atoms[1]
    operand_a = FROM_SMEM
    if from_registers:
        made = pick(
            "cute.make_fragment_like(from_a)",
            f"cute.make_rmem_tensor(from_a.shape, {a})",
            f"mma.make_fragment_A(mma.partition_shape_A(({m}, {k})))",
        )
        operand_a = FROM_REGISTERS.format(made=made, fill=pick(BY_ELEMENT, "cute.autovec_copy(from_a, in_a)"))
    before, products, after, result = _products(pick, stage_a, stage_b, k_blocks, wide)
    low = -2 if c is FLOAT16 else -3
    start = pick(0, 1, 5)
    return HEAD.format(title="A product of warpgroups.") + TEXT.format(
        m=m, n=n, k=k, stages=stages, threads=threads, type_a=a, type_b=b, torch_a=a.torch, torch_b=b.torch, torch_c=c.torch,
        op=f"warpgroup.{op}({types}, (64, {n_atom}, {wide}), {source}, {ways})", atoms=pick("", ", (1, 1, 1)") if threads == 128 else f", {atoms}",
        layout_a=layouts[0], layout_b=layouts[1], at_stage=stage_b, slice="thread", operand_a=operand_a, sums_of=pick("part.shape", f"mma.partition_shape_C(({m}, {n}))"), before=before,
        products=products, after=after, low_a=0 if a is UINT8 else low, low_b=0 if b is UINT8 else low, high=-low, seed=pick(*range(9)),
        stride_c=pick((n, 1), (1, m)), start=start, k_blocks=k_blocks, result=result.format(start=start),
    )  # fmt: skip


def _layout(pick: Choices, kind: Type, shape: tuple[int, int], major: str, stages: int, atom: int) -> str:
    """Shared memory of an operand (rows, K): a layout atom that divides its contiguous extent, or `atom`."""
    row = (shape[1] if major == "K" else atom) * kind.bits // 8
    fits = [name for name, size in (("INTER", 16), ("SW32", 32), ("SW64", 64), ("SW128", 128)) if row % size == 0]
    name = pick(*fits)
    whole, order = ((*shape, stages), (*pick.order(2), 2)) if stages else (shape, pick.order(2))
    atom = f"warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.{major}_{name}, {kind})"
    return f"cute.tile_to_shape({atom}, {whole}, {order})"


def _products(pick: Choices, stage_a: str, stage_b: str, blocks: int, wide: int) -> tuple[str, str, str, str]:
    """The code before the products, the products, the code after them, and the result."""
    keep = pick(False, True)
    accumulate = "mma.set(warpgroup.Field.ACCUMULATE, {})"
    way = pick("blocks", "whole", "dynamic", "some", "restart")
    lines = [
        f"    sums.fill({'start' if keep else 7})" if keep or pick(True, False) else "",
        f"    {accumulate.format(keep)}",
    ]
    total = "a @ b.T"
    kept = " + {start}" if keep else ""
    stages = dict(stage_a=stage_a, stage_b=stage_b)
    more = f"        {accumulate.format(True)}\n"
    if way == "whole":
        if not keep:
            lines = ["    sums.fill(0)", f"    {accumulate.format(True)}"]
        products = WHOLE.format(**stages)
    elif way == "some":
        first, step = pick(*range(blocks)), pick(1, 2)
        products = BY_BLOCK.format(loop=f"cutlass.range_constexpr({first}, {blocks}, {step})", more=more, **stages)
        total = f"sum(a[:, k : k + {wide}] @ b[:, k : k + {wide}].T for k in range({first * wide}, {blocks * wide}, {step * wide}))"
    elif way == "restart":
        again = pick(*range(blocks))
        products = BY_BLOCK.format(
            loop=f"cutlass.range_constexpr({blocks})",
            more=f"        {accumulate.format(f'k + 1 != {again}')}\n",
            **stages,
        )
        if again:
            kept, total = "", f"a[:, {again * wide} :] @ b[:, {again * wide} :].T"
    else:
        loop = (
            "cutlass.range_constexpr({})"
            if way == "blocks" or stage_a != stage_b
            else pick("range({})", "cutlass.range({}, unroll_full=True)")
        )
        bound = blocks if way == "blocks" else pick(blocks, "blocks")
        if "constexpr" in loop or "full" in loop:
            bound = blocks
        products = BY_BLOCK.format(loop=loop.format(bound), more=more, **stages)
    after = pick("    cute.autovec_copy(sums, part)", "    for i in cutlass.range_constexpr(cute.size(sums)):\n        part[i] = sums[i]",
                 "    part.store(sums.load())", "    cute.basic_copy(sums, part)")  # fmt: skip
    return "\n".join(filter(None, lines)), products.rstrip(), after, f"{total}{kept}"
