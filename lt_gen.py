import quadrants as qd


@qd.kernel
def f(a: qd.i32):
    r = None or qd.Vector([a, 0])
    print(r)
