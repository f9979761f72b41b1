"""Waits for a phase of an mbarrier, and the address of one.  PTX ISA: mbarrier.try_wait.parity."""

from __future__ import annotations

from dsl.core.control_flow.statements import while_
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Boolean, Int32, numeric
from dsl.core.number.pointer import Pointer
from dsl.gpu.inline import ptx
from dsl.gpu.threads import mbarrier
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.syntax.choice import not_
from dsl.tirx.values.effects import noted

_CLUSTER = (
    "{ .reg .pred %dsl_p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %dsl_p, [$1], $2; "
    "selp.b32 $0, 1, 0, %dsl_p; }"
)


def barrier_of(place: object) -> Pointer:
    """The address of an mbarrier; a buffer means its first element."""
    if isinstance(place, Buffer):
        place = place.data
    if not isinstance(place, Pointer):
        raise DSLUserCodeTypeError(
            f"an mbarrier must be an address, got {type_name(place)}", id="POINTER_TYPE", fix="bar.ptr_to([0])"
        )
    return place


@noted
def mbarrier_wait(bar: object, phase: object) -> None:
    """Wait until the phase of parity `phase` has ended."""
    place, parity = barrier_of(bar), Int32(numeric(phase))
    while_(lambda: not_(mbarrier.try_wait(place, parity)), lambda: (), (), ())


@noted
def mbarrier_wait_acquire_cluster(bar: object, phase: object) -> None:
    """Wait until the phase of parity `phase` has ended, and see what other blocks of the cluster wrote before."""
    place, parity = mbarrier.address_of(barrier_of(bar)), Int32(numeric(phase))
    while_(lambda: not_(Boolean(ptx(_CLUSTER, Int32, "=r,r,r", place, parity))), lambda: (), (), ())
