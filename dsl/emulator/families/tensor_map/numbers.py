"""Numbers and structures about tensor maps that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class tensor_map:
    """The form of a tensor map: see tensor_map.py."""

    BYTES, ALIGNMENT_BYTES, DIMENSIONS = 128, 64, 5
    PIXELS = 1 << 8  # added to a rank: an instruction in im2col mode
    ROWS = 1 << 9  # the same, of one that names the four rows of a matrix that it copies
    WIDE, WIDE_128 = 1 << 10, 1 << 11  # the same, of one in mode im2col::w, and im2col::w::128
    RANK = 7
    TILED, IM2COL, IM2COL_W, IM2COL_W128 = 2, 3, 4, 5
    WIDE_PIXELS, WIDE_GROUP = 128, 32  # of a map of the last mode: all pixels, those between two halos
    MOST_HALO, MOST_HALO_128, MOST_OFFSET = 512, 32, 32  # what an instruction gives is less
    ALWAYS = 1 << 18  # flags of every map seen
    UNKNOWN = 0b11 << 11  # flags whose meaning is not emulated
    ATOM_SHIFT = 19  # what a swizzle of 128 bytes keeps together: see ATOMS
    ATOM_16B, ATOM_32B, ATOM_32B_FLIP_8B, ATOM_64B = range(4)
    FLAGS_AT, STRIDES_AT, OWN_AT, EXTENTS_AT, STEPS_AT, BOX_AT = 8, 12, 28, 32, 52, 55
    FILL_SHIFT, INTERLEAVE_SHIFT = 16, 17  # in the word at OWN_AT, above the strides' high bits
    CORNERS_AT, PIXELS_AT = 56, 60  # of an im2col map
    # Types of 4 bits, and of 4 and 6 bits with padding: 16 elements take 16 bytes of shared memory.
    PACKED_U4, PADDED_U4, PADDED_U6 = 11, 12, 13
    LAST_TYPE, LAST_SWIZZLE = 13, 3
    PADDED_ELEMENTS = 128  # of a row of a box; boxes begin at a multiple of them
    # of an element, by type before PACKED_U4
    LOG2_BYTES = sum(log2 << 2 * i for i, log2 in enumerate((0, 1, 2, 2, 3, 3, 1, 2, 2, 3, 1)))


class map_field:
    """The fields that tensormap.replace changes."""

    GLOBAL_ADDRESS, RANK, BOX_DIM, GLOBAL_DIM, GLOBAL_STRIDE, ELEMENT_STRIDE, ELEMTYPE = range(7)
    INTERLEAVE_LAYOUT, SWIZZLE_MODE, FILL_MODE, SWIZZLE_ATOMICITY = range(7, 11)
