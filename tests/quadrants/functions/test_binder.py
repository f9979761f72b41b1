"""Arguments of kernels: arrays where they lie, copied where a GPU is apart, numbers, templates, methods;
calls again."""

import numpy as np
import pytest
import torch

import dsl.quadrants as qd
from dsl.launch import session
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import DeviceError


@pytest.fixture(autouse=True)
def running():
    run = session.start("emulator")
    qd.init(arch=qd.gpu)
    yield run
    session.stop()


@qd.kernel
def scaled(a: qd.types.ndarray(), b: qd.types.ndarray(), s: float):
    for i in a:
        b[i] = a[i] * s


class Apart(Emulated):
    """A device that does not reach the host's arrays, such as a GPU with its own memory."""

    kind, wants_storages = "cuda", False
    own = ()

    def alloc(self, nbytes, label):
        address = super().alloc(nbytes, label)
        self.own = (*self.own, address)
        return address

    def free(self, address):
        self.own = tuple(one for one in self.own if one != address)
        super().free(address)

    def register(self, address, nbytes, label):
        if address not in self.own:
            raise DeviceError("HOST_MEMORY", f"{label} is on the host")

    def unregister(self, address):
        pass


@pytest.mark.parametrize(
    "make", [lambda n: np.arange(n, dtype=np.float32), lambda n: torch.arange(n, dtype=torch.float32)]
)
def test_arrays_of_the_host_are_copied_to_a_device_apart(make):
    session.stop()
    device = Apart()
    session.begin(session.Session(device))
    qd.init(arch=qd.gpu)
    kept = len(device.own)
    for s in (2.0, 3.0):
        a, b = make(10), make(10)
        scaled(a, b, s)
        assert b.tolist() == [i * s for i in range(10)] and a.tolist() == list(range(10))
        scaled(b, b, 2.0)
        assert b.tolist() == [i * s * 2 for i in range(10)]
    assert len(device.own) == kept


LIBRARIES = {
    "numpy": lambda values: np.array(values, np.float32),
    "torch": lambda values: torch.tensor(values),
    "torch cuda": lambda values: torch.tensor(values, device="cuda"),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_of_other_libraries_are_passed_where_they_lie(library):
    a, b = (LIBRARIES[library]([1.0, 2.0, 3.0]) for _ in range(2))
    for s in (2.0, 4.0, 8.0):  # the first call is traced, the second bound with care, the third quickly
        scaled(a, b, s)
        assert b.tolist() == [s, 2 * s, 3 * s]


def test_a_call_with_another_type_is_another_compilation():
    for kind in (np.float32, np.float64, np.int32, np.float32):
        a, b = np.arange(3).astype(kind), np.zeros(3, kind)
        scaled(a, b, 2.0)
        assert b.tolist() == [0, 2, 4] and b.dtype == kind
    assert len(scaled._specialised) == 3


@qd.kernel
def sum_of(a: qd.types.ndarray()) -> float:
    s = 0.0
    for i, j in a:
        s += a[i, j] * (i + 1)
    return s


def test_a_transposed_array_is_read_by_its_strides_and_others_are_refused():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert sum_of(a) == a[0].sum() + 2 * a[1].sum()
    assert sum_of(a.T) == sum((i + 1) * a.T[i].sum() for i in range(3))
    with pytest.raises(ValueError, match="Non contiguous"):
        sum_of(np.zeros((4, 6), np.float32)[:, ::2])


@qd.kernel
def checked(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    a[0] = 1


@pytest.mark.parametrize(
    "value, text", [(np.zeros(3, np.float64), "element type"), (np.zeros((3, 3), np.float32), "ndim")]
)
def test_an_array_that_is_not_as_annotated(value, text):
    with pytest.raises(ValueError, match=text):
        checked(value)


@qd.kernel
def number(x: qd.i32) -> qd.i32:
    return x


@qd.kernel
def big(x: qd.i64) -> qd.i64:
    return x


def test_numbers():
    for _ in range(3):
        assert number(2**31) == -(2**31) and number(True) == 1 and number(np.int64(7)) == 7
        assert big(2**40) == 2**40
    with pytest.raises(qd.QuadrantsRuntimeTypeError):
        number(1.5)
    assert len(number._specialised) == 1


@qd.data_oriented
class Grid:
    def __init__(self, n):
        self.n, self.x = n, qd.field(qd.i32, shape=n)

    @qd.func
    def doubled(self, i):
        return i * 2

    @qd.kernel
    def fill(self, v: int):
        for i in range(self.n):
            self.x[i] = self.doubled(i) + v


def test_methods_of_a_class():
    for grid in (Grid(3), Grid(5)):
        grid.fill(1)
        assert grid.x.to_numpy().tolist() == [2 * i + 1 for i in range(grid.n)]


COUNTED = []


def counted(value):
    COUNTED.append(value)
    return value


@qd.kernel
def traced(a: qd.types.ndarray()):
    for i in range(qd.static(counted(3))):
        a[i] = i


@pytest.mark.filterwarnings("ignore:Calling non-quadrants")
def test_a_body_is_traced_once():
    COUNTED.clear()
    a = np.zeros(4, np.int32)
    for _ in range(3):
        traced(a)
    assert COUNTED == [3] and a.tolist() == [0, 1, 2, 0]
