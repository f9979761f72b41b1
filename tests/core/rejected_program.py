"""Programs that both compilers reject: prints, a line of JSON each, what class of error and which diagnostic each is.

Every program runs in a fork: some end the process of NVIDIA's compiler.
"""

import json
import os
import re
import sys
import warnings

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@cute.kernel
def kernel(a: cute.Tensor):
    a[0] = a[0]


def tensor(count=8, dtype=np.float32):
    return from_dlpack(np.zeros(count, dtype))


@cute.jit
def type_change_in_a_loop(n: cutlass.Int32):
    x = cutlass.Int32(0)
    for i in range(n):
        x = x + 0.5
    cute.printf("%d", x)


@cute.jit
def type_change_in_a_branch(n: cutlass.Int32):
    x = cutlass.Int32(0)
    if n > 1:
        x = cutlass.Float32(1)
    cute.printf("%d", x)


@cute.jit
def type_change_in_while(n: cutlass.Int32):
    x = cutlass.Int32(0)
    while x < n:
        x = x + 1.5


@cute.jit
def append_in_a_loop(n: cutlass.Int32):
    xs = [n]
    for i in range(n):
        xs.append(i)


@cute.jit
def append_in_a_branch(n: cutlass.Int32):
    xs = [n]
    if n > 1:
        xs.append(n)


@cute.jit
def const_expr_in_if(n: cutlass.Int32):
    if cutlass.const_expr(n > 1):
        pass


@cute.jit
def const_expr_in_while(n: cutlass.Int32):
    while cutlass.const_expr(n > 1):
        pass


@cute.jit
def const_expr_of_a_value(n: cutlass.Int32):
    x = cutlass.const_expr(n)
    cute.printf("%d", x)


@cute.jit
def range_constexpr(n: cutlass.Int32):
    for i in cutlass.range_constexpr(n):
        pass


@cute.jit
def underscore(n: cutlass.Int32):
    _ = n
    x = _ + 1
    cute.printf("%d", x)


@cute.jit
def global_name(n: cutlass.Int32):
    global NAME
    NAME = n


@cute.jit
def nonlocal_name(n: cutlass.Int32):
    def inner():
        nonlocal n
        n = n + 1

    if n > 1:
        inner()


@cute.jit
def shape_and_stride(n: cutlass.Int32):
    cute.make_layout((4, 8), stride=(1, (2, 3)))


@cute.jit
def python_bool(n: cutlass.Int32):
    return bool(n)


@cute.jit
def python_int(n: cutlass.Int32):
    return [0] * int(n)


@cute.jit
def comprehension(n: cutlass.Int32):
    return [i for i in range(n)]


@cute.jit
def choice_of_two_types(n: cutlass.Int32):
    x = "a" if n > 1 else 1
    cute.printf("%d", n)


@cute.jit
def text_in_a_branch(n: cutlass.Int32):
    x = "a"
    if n > 1:
        x = "b"
    cute.printf("%d", n)


@cute.jit
def vectorized(n: cutlass.Int32):
    for i in cutlass.range(n, vectorize=True):
        pass


@cute.jit
def undefined_name(n: cutlass.Int32):
    cute.printf("%d", nothing + n)


@cute.jit
def name_of_one_branch(n: cutlass.Int32):
    if n > 1:
        late = n
    cute.printf("%d", late)


for name, function in list(globals().items()):
    if hasattr(function, "__wrapped__") and name not in ("kernel", "from_dlpack"):
        PROGRAMS[name] = lambda function=function: function(cutlass.Int32(3))


@program
def kernel_never_launched():
    @cute.jit
    def host(a: cute.Tensor):
        kernel(a)

    host(tensor())


@program
def kernel_called_from_python():
    kernel(tensor())


@program
def launch_outside_jit():
    kernel(tensor()).launch(grid=1, block=1)


@program
def thread_idx_in_host_code():
    @cute.jit
    def host():
        cute.arch.thread_idx()

    host()


@program
def missing_argument():
    @cute.jit
    def host(a: cute.Tensor, n: cutlass.Int32):
        pass

    host(tensor())


@program
def argument_too_many():
    @cute.jit
    def host(n: cutlass.Int32):
        pass

    host(1, 2)


@program
def argument_of_no_such_name():
    @cute.jit
    def host(n: cutlass.Int32):
        pass

    host(1, m=2)


@program
def compile_of_a_plain_function():
    cute.compile(lambda n: n, cutlass.Int32(1))


@program
def compile_of_a_kernel():
    cute.compile(kernel, tensor())


@program
def text_argument():
    @cute.jit
    def host(mode):
        pass

    host("fast")


@program
def coordinate_of_another_rank():
    @cute.jit
    def host():
        cute.printf("%d", cute.crd2idx((1, 2, 3), cute.make_layout((4, 8))))

    host()


@program
def coordinate_of_a_tensor_of_another_rank():
    @cute.jit
    def host(a: cute.Tensor):
        a[1, 2] = a[0]

    host(tensor())


@program
def pred_that_is_no_tensor():
    @cute.jit
    def host(a: cute.Tensor, n: cutlass.Int32):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
        cute.copy(atom, a, a, pred=cutlass.Boolean(n > 1))

    host(tensor(), 3)


@program
def layout_outside_jit_is_indexed_by_text():
    cute.make_layout("text")


def say(name, run):
    warnings.simplefilter("ignore")
    try:
        run()
    except BaseException as error:
        found = getattr(error, "id", None)
        text = re.sub(r"\x1b\[[\d;]*m", "", str(error))
        found = found or (re.search(r"error\[([A-Z_]+)\]", text) or [None, None])[1]
        bases = [base.__name__ for base in type(error).__mro__ if base.__name__ not in ("object", "BaseException")]
        print(json.dumps([name, bases, found]), flush=True)
    else:
        print(json.dumps([name, [], None]), flush=True)


for name, run in PROGRAMS.items():
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        say(name, run)
        os._exit(0)
    if status := os.waitpid(child, 0)[1]:
        print(json.dumps([name, ["died"], None]), flush=True)
