"""Which mode of a matrix is contiguous."""

from __future__ import annotations

import enum

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.layout.int_tuple import text
from dsl.tile.tensor.tensor import Tensor


class OperandMajorMode(enum.Enum):
    """The contiguous mode of an operand with modes (M or N, K)."""

    MN = "MN"
    K = "K"


class LayoutEnum(enum.Enum):
    """Row-major: the last mode is contiguous, of a matrix with modes (M, K) and batches; column-major: the first is."""

    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"

    @staticmethod
    def from_tensor(tensor: Tensor) -> LayoutEnum:
        """Raises DSLUserCodeError where neither of the first two modes is the contiguous one."""
        if not hasattr(tensor, "leading_dim"):
            raise DSLUserCodeTypeError(
                f"from_tensor takes a tensor, got {type(tensor).__name__}", fix="LayoutEnum.ROW_MAJOR, or a tensor"
            )
        leading = lay.leading_dim(tensor.shape, tensor.stride)
        if leading == 1:
            return LayoutEnum.ROW_MAJOR
        if leading == 0:
            return LayoutEnum.COL_MAJOR
        raise DSLUserCodeError(
            "from_tensor: one of the first two modes of a matrix must be contiguous, got "
            f"{text(tensor.shape)}:{text(tensor.stride)}",
            fix="mark_layout_dynamic(leading_dim=...) keeps a stride of 1 static",
        )

    def mma_major_mode(self) -> OperandMajorMode:
        """Of A (M, K) or B (N, K)."""
        return OperandMajorMode.K if self is LayoutEnum.ROW_MAJOR else OperandMajorMode.MN

    sm90_mma_major_mode = mma_major_mode

    def is_k_major_a(self) -> bool:
        """Of A (M, K)."""
        return self is LayoutEnum.ROW_MAJOR

    def is_m_major_a(self) -> bool:
        """Of A (M, K)."""
        return self is LayoutEnum.COL_MAJOR

    def is_n_major_b(self) -> bool:
        """Of B (N, K)."""
        return self is LayoutEnum.COL_MAJOR

    def is_k_major_b(self) -> bool:
        """Of B (N, K)."""
        return self is LayoutEnum.ROW_MAJOR

    def is_n_major_c(self) -> bool:
        """Of C (M, N)."""
        return self is LayoutEnum.ROW_MAJOR

    def is_m_major_c(self) -> bool:
        """Of C (M, N)."""
        return self is LayoutEnum.COL_MAJOR
