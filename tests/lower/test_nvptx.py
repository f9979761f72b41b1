"""LLVM IR to PTX: versions, places, contraction, refusals; ptxas accepts what comes out."""

import itertools
import re
from collections.abc import Iterator

import pytest

from dsl.emulator.families import table as isa
from dsl.emulator.ptx import parse as emulator
from dsl.forms import coverage, table
from dsl.lower import nvptx, sass
from dsl.lower.guard import LoweringCrash
from dsl.lower.llvm_ir import to_llvm_ir
from dsl.lower.nvptx import to_ptx
from dsl.lower.passes import LoweringError, convert_to_llvm

ARCHS = "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"
SAXPY = """
#outer = loc("/home/author/saxpy.py":3:1)
#first = loc("/home/author/saxpy.py":5:9)
#second = loc("/home/author/saxpy.py":6:13)
llvm.func @saxpy(%a: f32, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
  %i = nvvm.read.ptx.sreg.tid.x : i32 loc(#first)
  %p = arith.cmpi slt, %i, %n : i32 loc(#first)
  scf.if %p {
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32 loc(#second)
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32 loc(#second)
    %vx = llvm.load %px : !llvm.ptr<1> -> f32 loc(#second)
    %vy = llvm.load %py : !llvm.ptr<1> -> f32 loc(#second)
    %m = arith.mulf %a, %vx : f32 loc(#second)
    %s = arith.addf %m, %vy : f32 loc(#second)
    llvm.store %s, %py : f32, !llvm.ptr<1> loc(#second)
  } loc(#first)
  nvvm.barrier loc(#second)
  llvm.return loc(#second)
} loc(#outer)
"""


def ptx_of(mlir_text: str, arch: str = "sm_90a", contract: bool = True) -> str:
    return to_ptx(to_llvm_ir(convert_to_llvm(mlir_text), contract), arch)


def kernel(body: str, declarations: str = "") -> str:
    return f"define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{\n{body}\n  ret void\n}}\n{declarations}"


def test_kernel_with_places_and_fma(filecheck):
    ptx = ptx_of(SAXPY)
    filecheck(
        ptx,
        """
        // CHECK: .version 8.0
        // CHECK-NEXT: .target sm_90a
        // CHECK-NEXT: .address_size 64
        // CHECK: .visible .entry saxpy(
        // CHECK: .reqntid 128, 1, 1
        // CHECK: .loc 1 5 9
        // CHECK: setp.ge.s32
        // CHECK: .loc 1 6 13
        // CHECK: fma.rn.f32
        // CHECK: bar.sync 0;
        // CHECK: .file 1 "/home/author/saxpy.py" """,
    )
    assert ".section" not in ptx and "debug" not in ptx and "$L__tmp" not in ptx
    assert len(sass.assemble(ptx)) > 0


def test_without_contraction_each_operation_rounds():
    ptx = ptx_of(SAXPY, contract=False)
    assert "mul.rn.f32" in ptx and "add.rn.f32" in ptx and "fma" not in ptx


def test_inlined_places_name_the_callee_alone():
    text = SAXPY.replace("loc(#second)", 'loc(callsite("f"("/home/author/saxpy.py":9:2) at #second))')
    ptx = ptx_of(text)
    assert ".loc\t1 9 2\n" in ptx and "inlined_at" not in ptx
    sass.assemble(ptx)


@pytest.mark.parametrize("arch", list(nvptx.ARCH_PTX))
def test_version_is_the_oldest_with_the_target(arch):
    version = nvptx.ARCH_PTX[arch]
    assert f".version {version // 10}.{version % 10}\n.target {arch}\n" in to_ptx(kernel(""), arch)


@pytest.mark.parametrize(
    "text, arch, version",
    [
        ('  call void asm sideeffect "griddepcontrol.wait;", ""()', "sm_80", "7.8"),
        ('  call void asm sideeffect "tcgen05.fence::before_thread_sync;", ""()', "sm_90a", "8.6"),
        ("  %e = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)", "sm_90", "8.0"),
        ("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "sm_80", "7.0"),
    ],
)
def test_version_is_the_oldest_with_the_instruction(text, arch, version):
    assert f".version {version}\n" in to_ptx(kernel(text), arch)


def samples(form) -> Iterator[tuple[str, ...]]:
    """Modifiers that fill a form of a row, with each modifier of each group once."""
    groups = form.groups
    first = [() if group.is_optional else (next(iter(group.modifiers)),) for group in groups]
    yield tuple(itertools.chain(*first))
    for number, group in enumerate(groups):
        for modifier in group.modifiers:
            yield tuple(itertools.chain(*first[:number], (modifier,), *first[number + 1 :]))


@pytest.mark.parametrize("arch", ARCHS)
def test_the_version_has_every_form_of_the_table(arch):
    """The rows have the same needs as ptxas."""
    later = {}
    for opcode, row in ((opcode, row) for opcode, rows in isa.ROWS.items() for row in rows):
        for modifiers in {each for form in row.forms for each in samples(form)}:
            need, name = isa.need_of(opcode, modifiers), ".".join((opcode, *modifiers))
            version = nvptx.ptx_version(f'call void asm "{name} $0;", "r"()', arch)
            if need.allows(arch) and version < 10 * need.version[0] + need.version[1]:
                later[name] = version, need.version
    assert later == {}


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
def test_ptxas_takes_each_form_with_the_version(arch):
    ran, refused, forms = 0, {}, {form.name: form for form in table.forms()}
    for names in coverage.every_form_by_row().values():
        form = next((forms[name] for name in names if forms[name].need.allows(arch)), None)
        if form is None:
            continue
        version = nvptx.ptx_version("".join(f'call void asm "{line}"()\n' for line in form.ptx.splitlines()), arch)
        head = f".version {version // 10}.{version % 10}\n.target {arch}"
        try:
            sass.assemble(re.sub(r"\.version .*\n\.target \w+", head, form.ptx, count=1), arch)
            ran += 1
        except sass.ToolRejected as error:
            refused[form.name] = str(error)
    assert ran > 80 and refused == {}


@pytest.mark.parametrize(
    "text, arch",
    [
        ("discard.global.L2 [$0], 128;", "sm_80"),
        ("prefetch.global.L2::evict_last [$0];", "sm_86"),
        ("st.global.L1::no_allocate.b32 [$0], 1;", "sm_80"),
        ("{ .reg .b32 t; bmsk.clamp.b32 t, 1, 2; st.global.b32 [$0], t; }", "sm_87"),
        ("{ .reg .f32 f; max.xorsign.abs.f32 f, f, f; }", "sm_86"),
        ("bar.cta.sync 0;", "sm_75"),
    ],
)
def test_ptxas_takes_inline_assembly(text, arch):
    call = f'  call void asm sideeffect "{text}", "l"(ptr addrspace(1) %p)'
    assert sass.assemble(to_ptx(kernel(call), arch), arch)


@pytest.mark.parametrize("version", sorted({version for _, version in nvptx.FEATURE_PTX}))
def test_llvm_knows_every_version_of_the_table(version, monkeypatch):
    monkeypatch.setattr(nvptx, "FEATURE_PTX", (("membar", version),))
    text = kernel('  call void asm sideeffect "membar.cta;", ""()')
    assert f".version {version // 10}.{version % 10}\n" in nvptx._compile(text, "sm_80", 3)


def test_names_do_not_count_as_instructions():
    assert ".version 7.0\n" in to_ptx(kernel("").replace("@k", "@tcgen05_wgmma"), "sm_80")


def test_inline_barrier_is_not_duplicated_into_branches():
    body = """
  %c = icmp eq i32 %n, 0
  br i1 %c, label %a, label %b
a:
  store i32 1, ptr addrspace(1) %p
  br label %m
b:
  store i32 2, ptr addrspace(1) %p
  br label %m
m:
  %x = phi i32 [ 1, %a ], [ 2, %b ]
  call void asm sideeffect "bar.sync 0;", "~{memory}"()
  %d = icmp eq i32 %x, 1
  br i1 %d, label %t, label %e
t:
  store i32 3, ptr addrspace(1) %p
  br label %e
e:"""
    from dsl.lower.llvm_ir import adapt

    assert to_ptx(adapt(kernel(body))).count("bar.sync") == 1


def test_abort_of_llvm_names_the_kernel():
    with pytest.raises(LoweringCrash) as crash:
        to_ptx(kernel("  call void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg1()"), "sm_90")
    assert str(crash.value) == (
        "the compiler died of SIGABRT while compiling k for sm_90\n"
        "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.relinq.alloc.permit.cg1"
    )


def test_bad_input_is_refused_by_name():
    with pytest.raises(LoweringError, match="unknown GPU arch 'sm_42'; known: sm_70"):
        to_ptx(kernel(""), "sm_42")
    with pytest.raises(LoweringError, match="LLVM IR parsing error"):
        to_ptx(kernel("  nonsense"))
    with pytest.raises(LoweringError, match="knows no intrinsic or function llvm.nvvm.no.such"):
        to_ptx(kernel("  call void @llvm.nvvm.no.such(i32 1)", "declare void @llvm.nvvm.no.such(i32)"))


def test_printf_is_a_function_of_the_driver():
    ptx = to_ptx(kernel("  %r = call i32 @vprintf(ptr null, ptr null)", "declare i32 @vprintf(ptr, ptr)"))
    assert "vprintf" in ptx
    sass.assemble(ptx)


def strided_loads(count: int) -> str:
    """A kernel that sums `count` elements at a stride known only at run time."""
    lines = ["  %w = sext i32 %n to i64", "  %s0 = add i32 0, 0"]
    for k in range(count):
        lines += [
            f"  %i{k} = mul i64 %w, {k}",
            f"  %a{k} = getelementptr i32, ptr addrspace(1) %p, i64 %i{k}",
            f"  %v{k} = load i32, ptr addrspace(1) %a{k}",
            f"  %s{k + 1} = add i32 %s{k}, %v{k}",
        ]
    return kernel("\n".join([*lines, f"  store i32 %s{count}, ptr addrspace(1) %p"]))


@pytest.mark.slow
def test_a_long_kernel_leaves_the_ones_after_it_as_they_were():
    short, long = strided_loads(20), strided_loads(700)
    assert long.count("\n") > nvptx.LONG_LINES > short.count("\n")
    before = to_ptx(short)
    assert before.count("mul") < 10  # a stride is added to the address before it
    made = to_ptx(long)
    assert made.count("ld.global") == 700 and made.count("mul") > 600
    assert to_ptx(short) == before


@pytest.mark.parametrize("bits, floats, count", [("i1", "bfloat", 1), ("<2 x i1>", "<2 x bfloat>", 2)])
def test_the_bfloat_of_a_signed_bit_is_minus_one(bits, floats, count):
    """LLVM 22 makes +1 of it if the bit is not a comparison."""
    ptx = to_ptx(
        kernel(f"""
  %v = load {bits}, ptr addrspace(1) %p
  %w = xor {bits} %v, {"true" if count == 1 else "splat (i1 true)"}
  %f = sitofp {bits} %w to {floats}
  store {floats} %f, ptr addrspace(1) %p""")
    )
    assert ptx.count("0xBF80") == count and not re.search(r"selp.*, 1, 0|cvt\.rn\.bf16", ptx)


@pytest.mark.parametrize("folder", ['a"b', "c\\d", "ä", 'all "of\\ them" ä', "plain"])
def test_ptxas_takes_the_name_of_every_folder(folder, ptxas_path):
    place = folder.replace("\\", "\\\\").replace('"', '\\"')
    ptx = ptx_of(SAXPY.replace("/home/author/", f"/home/{place}/"))
    assert emulator.parse(ptx).files == {1: f"/home/{folder}/saxpy.py"}
    assert sass.assemble(ptx, "sm_90a")


@pytest.mark.parametrize("bound", ["add i32 %n, 0", "call i32 @llvm.smax.i32(i32 %n, i32 0)"])
def test_a_loop_whose_trips_are_counted_at_run_time_is_left_to_ptxas_with_the_test_that_was_written(bound):
    ptx = to_ptx(
        f"""
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{
entry:
  %bound = {bound}
  %any = icmp sgt i32 %bound, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i32 %i
  %value = load float, ptr addrspace(1) %at
  %more = fadd float %sum, %value
  %next = add i32 %i, 1
  %on = icmp slt i32 %next, %bound
  br i1 %on, label %loop, label %last
last:
  store float %more, ptr addrspace(1) %p
  br label %end
end:
  ret void
}}
"""
    )
    assert ptx.count("ld.global") == 1
    assert re.fullmatch(r"setp\.(lt|gt)\.s32", re.findall(r"setp\.\w+\.\w+", ptx)[-1])  # not `ne`, not unsigned


def test_an_arm_of_one_store_has_nothing_else_that_ptxas_could_not_give_a_predicate():
    stores = "\n".join(
        f"""
  %near{k} = icmp slt i32 {k}, %n
  %far{k} = mul i64 %stride, {k * 48}
  %at{k} = getelementptr i8, ptr addrspace(1) %p, i64 %far{k}
  br i1 %near{k}, label %store{k}, label %after{k}
store{k}:
  store i32 %n, ptr addrspace(1) %at{k}
  br label %after{k}
after{k}:"""
        for k in (1, 3)
    )
    ptx = to_ptx(
        f"define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, i64 %stride) {{\nentry:{stores}\n  ret void\n}}"
    )
    arms = re.findall(r"bra \s*\$\S+;\n(.*?)\$L", ptx, re.DOTALL)
    assert len(arms) == 2 and all(re.fullmatch(r"\tst\.global\.b32 \S*\s*\[.*\], %r\d+;\n", arm) for arm in arms), arms
