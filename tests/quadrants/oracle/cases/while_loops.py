"""while, break and continue in it, and conditions."""

import quadrants as qd


def counts():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        while r * r < n:
            r += 1
        return r

    return [k(0), k(10), k(100)]


def condition_is_an_integer():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        while n:
            n2 = n
            r += n2
            break
        return r

    return [k(0), k(4), k(-2)]


def condition_is_a_float():
    @qd.kernel
    def k() -> qd.i32:
        a = 1.0
        r = 0
        while a:
            a = 0.0
            r += 1
        return r

    return k()


def true_with_break():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        while True:
            r += 3
            if r > 10:
                break
        return r

    return k()


def one_with_break():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        while 1:
            r += 1
            if r == 5:
                break
        return r

    return k()


def continue_skips():
    @qd.kernel
    def k() -> qd.i32:
        i = 0
        r = 0
        while i < 10:
            i += 1
            if i % 3:
                continue
            r += i
        return r

    return k()


def nested_with_break_of_inner():
    @qd.kernel
    def k() -> qd.i32:
        i = 0
        r = 0
        while i < 4:
            j = 0
            while True:
                if j >= i:
                    break
                j += 1
                r += 1
            i += 1
        return r

    return k()


def in_a_parallel_loop():
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            n = i * 5
            steps = 0
            while n > 1:
                n = n // 2
                steps += 1
            x[i] = steps

    k()
    return x.to_numpy()


def for_in_while():
    @qd.kernel
    def k() -> qd.i32:
        n = 3
        r = 0
        while n > 0:
            for i in range(n):
                r += 1
            n -= 1
        return r

    return k()


def while_else():
    @qd.kernel
    def k():
        while False:
            pass
        else:
            pass

    k()


def variable_of_the_body_is_unknown_afterwards():
    @qd.kernel
    def k() -> qd.i32:
        i = 0
        while i < 2:
            last = i
            i += 1
        return last

    return k()


def condition_with_and_or():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        r = 0
        i = 0
        while (i < a and i < b) or i == 0:
            i += 1
            r += i
        return r

    return [k(3, 5), k(0, 9), k(6, 4)]


def collatz():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        m = n
        steps = 0
        while m != 1:
            if m % 2 == 0:
                m //= 2
            else:
                m = m * 3 + 1
            steps += 1
        return steps

    return [k(1), k(7), k(27)]


def condition_is_a_field():
    n = qd.field(qd.i32, shape=())
    n[None] = 4

    @qd.kernel
    def k() -> qd.i32:
        r = 0
        while n[None]:
            n[None] -= 1
            r += 10
        return r

    return k()


def in_unrolled_loop():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for s in qd.static(range(3)):
            i = s
            while i > 0:
                i -= 1
                r += 1
        return r

    return k()
