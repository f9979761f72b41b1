"""cutlass.dsl_user_op: functions with `loc` and `ip`, which they hand on."""

import numpy as np

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack


@cutlass.dsl_user_op
def leaky(x, alpha, *, loc=None, ip=None):
    return cute.where(x > 0, x, alpha * x, loc=loc, ip=ip)


@cutlass.dsl_user_op
def twice(x, alpha, *, loc=None, ip=None):
    return leaky(leaky(x, alpha, loc=loc, ip=ip), alpha, loc=loc)


class Port:
    def __init__(self, ip, loc=1):
        self.ip, self.loc = ip, loc

    def moved(self, ip, loc=2):
        return Port(ip=ip, loc=loc)


def test_loc_and_ip_that_a_user_op_passes_on_change_nothing():
    @cute.jit
    def host(x: cute.Tensor):
        x.store(twice(x.load(), 0.5))

    values = np.array([-4, -1, 0, 2], np.float32)
    host(from_dlpack(values))
    assert values.tolist() == [-1, -0.25, 0, 2]


def test_names_of_the_authors_own_stay():
    @cute.jit
    def host(n: cutlass.Int32):
        ip, loc = 7, 8
        port = Port(ip=ip, loc=loc)
        return n + port.ip + port.loc + Port(ip=3, loc=loc).loc

    assert host(1) == 1 + 7 + 8 + 8
