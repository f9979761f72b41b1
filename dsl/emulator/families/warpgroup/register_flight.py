"""The state of a register that wgmma uses, and its possible mistakes: see async_registers.py.

A state is the number of the group (or of the fences before a write) from bit NUMBER on, IS_A where the register is of
A, and the site + 1; 0: none.
"""

NUMBER, IS_A, SITE_MASK = 32, 1 << 31, (1 << 31) - 1
# The mistakes: `access_bytes` of the fault record; its `address` has the state.
READS_RESULT, WRITES_RESULT, WRITES_OPERAND, NO_FENCE, NO_FENCE_AT_ALL = range(5)
