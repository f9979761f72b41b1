"""The properties of instructions that more than one family has, as bits of `Instr.traits`.

The rows of a family give them (`traits=` in its rows.py), and `families.table.prepare` puts them into the parsed
instructions. Layers ask for a trait, so they need not know opcodes.
"""

from __future__ import annotations

# ** results
MOVES = 1 << 0  # its result is one of its operands
ARITHMETIC = 1 << 1  # adds or multiplies numbers
COMPUTES = 1 << 2  # its result comes from its operands alone, and it does nothing else
CONVERTS = 1 << 3  # the same with addresses: its result depends on where the thread's memory is too
REPEATS = 1 << 4  # applied to its own result, it gives the same few values again
NO_RESULT = 1 << 5  # its first operand is a register that it reads
NO_EFFECT = 1 << 6  # it changes nothing here
WIDER = 1 << 7  # its registers may be wider than its type. PTX ISA 9.4.1
TWO_RESULTS = 1 << 33  # it sets its first two operands
PARTS = 1 << 31  # its operands may be parts of registers, or negated

# ** loops that wait
POLLS = 1 << 8  # a loop that has it waits for another thread
IDLE = 1 << 9  # a thread that executes only such instructions does nothing for other threads
IDLE_WITH_ZERO = 1 << 10  # the same if its last operand is 0

# ** memory
LOAD = 1 << 11  # memory to registers of the thread
STORE = 1 << 12  # registers of the thread to memory
TILE_LOAD = 1 << 13  # memory to registers of the warp
TILE_STORE = 1 << 14  # registers of the warp to memory
ANYWHERE = 1 << 32  # the same, of memory that need not be shared
MULTIMEM = 1 << 35  # its addresses are multimem addresses
TENSOR = 1 << 34  # its addresses are of tensor memory; it may read shared memory too
ATOMIC = 1 << 15  # changes memory and returns the value before
REDUCTION = 1 << 16  # changes memory and returns nothing
COPY = 1 << 17  # memory to memory, while the thread goes on
BULK = 1 << 18  # read or written by the async proxy
REMOTE = 1 << 19  # registers to the shared memory of another block, while the thread goes on
PRODUCT = 1 << 20  # reads matrices in shared memory while the thread goes on

# ** order
BARRIER = 1 << 21  # of a warp, a block or a cluster
EXCHANGE = 1 << 22  # lanes of a warp meet and exchange registers
CLUSTER = 1 << 23  # blocks of a cluster meet, or one names another's shared memory
FENCE = 1 << 24
ALIGNED = 1 << 25  # all threads of a warp must execute it together, without `.aligned` too
MBARRIER = 1 << 26  # an operation on an mbarrier
INIT = 1 << 27  # begins or ends the life of an mbarrier
ARRIVE = 1 << 28  # arrives at an mbarrier
WAIT = 1 << 29  # asks whether a phase of an mbarrier has ended
TIMED = 1 << 30  # its effect depends on how far other threads are

# ** groups
UPDATES = ATOMIC | REDUCTION
ASYNCHRONOUS = COPY | REMOTE
READS = LOAD | TILE_LOAD
WRITES = STORE | TILE_STORE
