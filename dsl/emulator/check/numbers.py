"""Numbers and structures about what checkers keep that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class access:
    """The kind of an access, as bits: see check/access.py and check/race.cc."""

    # CTA, NEAR: only for threads of its block, of its cluster; ASYNC: at some time until its wait
    WRITE, STRONG, CTA, ASYNC, NEAR = 1, 2, 4, 8, 16
    QUEUED = NEAR  # of tensor memory, whose accesses are never strong: by the tensor core
    # no bits of what is kept:
    SILENT = 64  # a plain write of what is there already; of a copy: its thread's last cp.async, which may be such
    OBJECT = 32  # an mbarrier begins or ends there
    FEW = 128  # a cell keeps two of its kind, and no more
    STALE = 256  # a load that may give what was there before the launch, whatever orders it
    ASKED_SHIFT = 9  # above it the observers by which a plain access runs (dependence/observed.py)
    PENDING = 2**32 - 1  # the label of a copy that was not waited for: nobody has seen its end


class scope:
    """Which threads a strong access, a fence, a release or an acquire is for (PTX ISA 8.5). UNSAID: of an mbarrier."""

    CTA, CLUSTER, ALL, UNSAID = 0, 1, 2, 3


class other_kind:
    """Marks of `other_kind`, above the bits of a kind."""

    OF_WGMMA, UNPROXIED, OF_MAP = 1 << 8, 1 << 9, 1 << 10


class orders:
    """`order_kinds`: what orders threads besides barriers of whole blocks, as bits; see check/access.py."""

    THREADS, BLOCKS, MEMORY, MATRICES, BULK, MEETS, OBSERVED = 1, 2, 4, 8, 16, 32, 64
    ANY = 127 & ~MEETS
    BY_PLACE = BLOCKS | MEMORY  # strong accesses tell of their threads


class site_line:
    """Bits above the number of the author's line in `site_lines`."""

    STEPS = 1 << 31  # a volatile access of shared memory
    SILENCED = 1 << 30  # of a line whose races are allowed: silenced.py


class undefined:
    """The mark of an undefined value: the number of the load + 1 (SITE_SHIFT), below it its address. 0: all is well."""

    SITE_SHIFT, ADDRESS_MASK, MOST_SITES = 48, (1 << 48) - 1, (1 << 15) - 2
    COMPUTED = 1 << 63  # it is not what was read, but computed of that
    SHUFFLED = 1 << 47  # of what a shuffle gave: a lane is in the place of the address
    GOES_ON, ENDS = 0, 1  # what the launch does after a finding


class Met(ctypes.Structure):
    """The labels that lanes of a warp had when they last met at a shuffle: of all lanes, and by lane of some lanes."""

    _fields_ = [("whole", _u32 * 32), ("some", _u32 * 32 * 32)]


class CellEntry(ctypes.Structure):
    """Accesses of a warp's lanes that a cell keeps."""

    _fields_ = [("place_kind_site", _u64), ("label", _u32), ("lanes", _u32)]


class Cell(ctypes.Structure):
    """The accesses that are kept of a few bytes."""

    _fields_ = [("count", _u32), ("beyond", _u64), ("first", CellEntry * 2)]  # `beyond` has the entries after the first


class Shadow(ctypes.Structure):
    """Of an interval of addresses: its cells, and a byte for each of its bytes, 1 once it is written; or 0."""

    _fields_ = [("cells", _u64), ("valid", _u64)]


class AccessRun(ctypes.Structure):
    """Bytes of [lo, hi) that one instruction accessed. `kind`: bits of access, WRITE and STRONG."""

    _fields_ = [("lo", _u64), ("hi", _u64), ("site", _u32), ("kind", _u32)]


class AccessRuns(ctypes.Structure):
    """A growing array of them; `last` has the number of the last one of each kind, from 1."""

    _fields_ = [("runs", _u64), ("count", _u64), ("room", _u64), ("last", _u64 * 4)]


class TrailRow(ctypes.Structure):
    """See check/trail.py."""

    _fields_ = [("site", _u32), ("rounds", _u32), ("label", _u32), ("value", _u64)]


class Trail(ctypes.Structure):
    """The trail of a thread: how many rows there were, and the rounds until now; a ring of the last rows."""

    _fields_ = [("count", _u32), ("rounds", _u32), ("unused", _u64 * 2), ("rows", TrailRow * 256)]
