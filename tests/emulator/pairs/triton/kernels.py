"""Mistakes in Triton kernels, each put right where RIGHT; `found:` marks the line of each finding. For test_triton.py."""

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait


@triton.jit
def reversed_tile(x, scratch, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """A tile reversed through memory: other threads read what this one stored."""
    i = tl.arange(0, N)
    tl.store(scratch + i, tl.load(x + i) * 2)  # found: reversed_tile
    if RIGHT:
        tl.debug_barrier()
    tl.store(out + i, tl.load(scratch + N - 1 - i))


@triton.jit
def locked_sum(x, lock, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """Gradients of rows added under a lock, which is taken by a relaxed exchange."""
    i = tl.arange(0, N)
    row = tl.load(x + tl.program_id(0) * N + i)
    if RIGHT:
        while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
            pass
    else:
        while tl.atomic_cas(lock, 0, 1, sem="relaxed") == 1:
            pass
    row += tl.load(out + i)  # found: locked_sum
    tl.store(out + i, row)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


@triton.jit
def split_k(x, turn, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """Parts added in turn; the wait for the turn is relaxed."""
    i = tl.arange(0, N)
    program = tl.program_id(0)
    part = tl.load(x + program * N + i)
    if RIGHT:
        while tl.atomic_add(turn, 0, sem="acquire") != program:
            pass
    else:
        while tl.atomic_add(turn, 0, sem="relaxed") != program:
            pass
    tl.store(out + i, tl.load(out + i) + part)  # found: split_k
    tl.debug_barrier()
    tl.atomic_xchg(turn, program + 1, sem="release")


@triton.jit
def flag_store(x, flag, part, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """A part handed to the next program; the flag is an ordinary store."""
    i = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(part + i, tl.load(x + i) + 1)
        tl.debug_barrier()
        if RIGHT:
            tl.atomic_xchg(flag, 1, sem="release")
        else:
            tl.store(flag, 1)
    else:
        while tl.atomic_add(flag, 0, sem="acquire") == 0:  # found: flag_store
            pass
        tl.store(out + i, tl.load(part + i))


@triton.jit
def last_program(x, count, part, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """The last program adds what all have left; it learns that it is the last by a relaxed count."""
    i = tl.arange(0, N)
    program = tl.program_id(0)
    tl.store(part + program, tl.sum(tl.load(x + program * N + i)))
    tl.debug_barrier()
    if RIGHT:
        before = tl.atomic_add(count, 1, sem="acq_rel")
    else:
        before = tl.atomic_add(count, 1, sem="relaxed")
    if before == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(part + tl.arange(0, 4))))  # found: last_program


@triton.jit
def scope_of_block(x, count, part, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """The same by a count in the scope of one program."""
    i = tl.arange(0, N)
    program = tl.program_id(0)
    tl.store(part + program, tl.sum(tl.load(x + program * N + i)))
    tl.debug_barrier()
    if RIGHT:
        before = tl.atomic_add(count, 1, scope="gpu")
    else:
        before = tl.atomic_add(count, 1, scope="cta")  # found: scope_of_block
    if before == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(part + tl.arange(0, 4))))


@triton.jit
def histogram(x, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """Bins counted up by a load and a store."""
    i = tl.arange(0, N)
    bins = out + tl.load(x + tl.program_id(0) * N + i) % 8
    if RIGHT:
        tl.atomic_add(bins, 1)
    else:
        tl.store(bins, tl.load(bins) + 1)  # found: histogram


@triton.jit
def unmasked(x, out, n, N: tl.constexpr, RIGHT: tl.constexpr):
    """The last tile is not whole: its load has no mask."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    if RIGHT:
        value = tl.load(x + i, mask=i < n)
    else:
        value = tl.load(x + i)  # found: unmasked
    tl.store(out + i, value * 2, mask=i < n)


@triton.jit
def promised(x, out, stride, N: tl.constexpr, RIGHT: tl.constexpr):
    """A stride that the author promises to be a multiple of 16, and is not."""
    row = tl.program_id(0) * stride
    if not RIGHT:
        row = tl.multiple_of(row, 16)
    i = tl.arange(0, N)
    tl.store(out + tl.program_id(0) * N + i, tl.load(x + row + i))  # found: promised


@triton.jit
def before(x, N: tl.constexpr, RIGHT: tl.constexpr):
    gdc_launch_dependents()
    i = tl.arange(0, N)
    tl.store(x + i, 3 * i)


@triton.jit
def overlapped(x, out, N: tl.constexpr, RIGHT: tl.constexpr):
    """A launch that overlaps the one before, and does not wait for it."""
    i = tl.arange(0, N)
    if RIGHT:
        gdc_wait()
    tl.store(out + i, tl.load(x + i) + 1)  # found: overlapped
