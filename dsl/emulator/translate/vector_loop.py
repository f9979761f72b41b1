"""The loop over the threads that are left, z, y and x, of which LLVM makes vectors of threads."""

from __future__ import annotations

# Metadata of a kernel made of regions; what a loop's branch back names of it.
METADATA = """
!0 = !{}
!1 = !{!"branch_weights", i32 2000, i32 1}
!2 = !{!"branch_weights", i32 1, i32 2000}
!8 = distinct !{}
!9 = !{!"llvm.loop.parallel_accesses", !8}
!10 = !{!"llvm.loop.interleave.count", i32 1}
!11 = !{!"llvm.loop.unroll.disable"}
!12 = !{!"llvm.loop.vectorize.enable", i1 false}
"""
VECTORS, REDUCTION, ONE_BY_ONE = "!9, !10, !11", "!10, !11", "!11, !12"


def access_group(text: str) -> str:
    """The metadata of an access of the loop that no other thread depends on."""
    plain = text.startswith(("load i", "store i")) and "!" not in text
    return ", !access.group !8" if plain else ""


def loop(n: int | str, first: list[str], ends: list[str], body: list[str], metadata) -> list[str]:
    """The lines of the loop of region `n` over the threads from `first` up to `ends` (i64, by axis), up to where
    %after{n} begins. `metadata(names)` is what the branch back of a loop ends with.
    """
    lines = [
        f"  br label %pre{n}",
        f"pre{n}:",
        f"  br label %z{n}",
        f"z{n}:",
        f"  %lz{n} = phi i64 [{first[2]}, %pre{n}], [%mz{n}, %az{n}]",
        f"  %pz{n} = mul nuw nsw i64 %lz{n}, %wide_y",
        f"  br label %y{n}",
        f"y{n}:",
        f"  %ly{n} = phi i64 [{first[1]}, %z{n}], [%my{n}, %ay{n}]",
        f"  %py{n} = add nuw nsw i64 %pz{n}, %ly{n}",
        f"  %row{n} = mul nuw nsw i64 %py{n}, %wide_x",
        f"  br label %x{n}",
        f"x{n}:",
        f"  %lx{n} = phi i64 [{first[0]}, %y{n}], [%mx{n}, %ax{n}]",
        f"  %pos{n} = add nuw nsw i64 %row{n}, %lx{n}",
        *(f"  %t{axis}{n} = trunc i64 %l{axis}{n} to i32" for axis in "xyz"),
        f"  %tl{n} = trunc i64 %pos{n} to i32",
        *body,
        f"  br label %ax{n}",
    ]
    for axis, end, after, kind in zip("xyz", ends, ("ay", "az", "after"), (VECTORS, ONE_BY_ONE, ONE_BY_ONE)):
        lines += [
            f"a{axis}{n}:",
            f"  %m{axis}{n} = add nuw nsw i64 %l{axis}{n}, 1",
            f"  %more_{axis}{n} = icmp ult i64 %m{axis}{n}, {end}",
            f"  br i1 %more_{axis}{n}, label %{axis}{n}, label %{after}{n}{metadata(kind)}",
        ]
    return lines
