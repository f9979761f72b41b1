"""The options of a case of cases/."""


def options(**given):
    """`qd.init` gets these options before the case."""

    def mark(function):
        function.options = given
        return function

    return mark
