"""Numbers about the answers of clusterlaunchcontrol that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class answer:
    """The 16 bytes that the ISA calls opaque. The low half has the ctaid of the first block of the cluster: x, y from
    Y_SHIFT on, z from Z_SHIFT on. The high half is GRANTED or REFUSED, and nothing else in an answer."""

    Y_SHIFT, Z_SHIFT = 32, 48
    REFUSED, GRANTED = 0x1C1C1C1C1C1C1C00, 0x1C1C1C1C1C1C1C01
    REFUSED_EARLY = 8  # with a seed, one request in eight is refused while there are clusters
