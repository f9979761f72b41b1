"""Layouts: shapes, strides and their algebra, under CuTe's names. Leaves are ints (static) or dynamic values."""

from dsl.layout.algebra import (coalesce, complement, composition, filter, filter_zeros, left_inverse,
                                max_common_layout, max_common_vector, nullspace, recast_layout, right_inverse)
from dsl.layout.coord import crd2crd, elem_less, idx2crd, increment_coord
from dsl.layout.int_tuple import (E, LayoutError, ScaledBasis, assume, basis_get, basis_value, depth, find,
                                  flatten_to_tuple, has_none, is_compatible, is_congruent, is_static, is_tuple,
                                  is_weakly_congruent, mode_products, prefix_product, product, product_each,
                                  repeat_like, round_up, shape_div, shape_of, transform_leaf, unflatten, unwrap, wrap)
from dsl.layout.layout import (ComposedLayout, Layout, append, append_ones, cosize, crd2idx, dice, flatten, get,
                               group_modes, is_major, leading_dim, make_composed_layout, make_layout, prepend,
                               prepend_ones, rank, select, shape, size, slice_, slice_and_offset)
from dsl.layout.making import make_fragment_layout, make_identity_layout, make_layout_like, make_ordered_layout
from dsl.layout.swizzle import Swizzle, get_nonswizzle_portion, get_swizzle_portion, make_swizzle, storage_elements
from dsl.layout.tiling import (blocked_product, ceil_div, flat_divide, flat_product, logical_divide, logical_product,
                               make_layout_tv, raked_product, tile_to_shape, tiled_divide, tiled_product, zipped_divide,
                               zipped_product)
from dsl.layout.tuples import (filter_tuple, find_if, front, product_like, repeat, repeat_as_tuple, transform_apply,
                               tuple_cat)
