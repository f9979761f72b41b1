"""The passes of each language, in the order in which they are worth trying."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dsl.reduction import schedules
from dsl.reduction.edit import Edit
from dsl.reduction.passes import (
    class_passes,
    definition_passes,
    executed_passes,
    expression_passes,
    gpu_passes,
    inlining_passes,
    ptx_passes,
    result_passes,
    slicing_passes,
    startup_passes,
    statement_passes,
    text_passes,
    value_passes,
)


class Pass(NamedTuple):
    """A pass by its name, what it does in a line, and the edits it sees in a program.

    `is_fine`: it has many edits that change words within lines; they are tried again only if their line changed.
    """

    name: str
    about: str
    edits: Callable[[Any], Iterable[Edit]]
    needs: str = ""  # what a run must report of the program: the lines that `ran`, or that its finding names (`found`)
    is_fine: bool = False


PYTHON = (
    Pass("command-line", "options of the command line become constants", startup_passes.command_line),
    Pass("main-guard", "the guard of the main program goes", startup_passes.main_guard),
    Pass("unrun", "what did not run", executed_passes.unrun, executed_passes.RAN),
    Pass("unreached", "functions and classes that nothing reaches", definition_passes.unreached),
    Pass("empty", "functions that do nothing, with their calls", definition_passes.empty),
    Pass("imports", "names that are imported and not read", definition_passes.imports),
    Pass("comments", "comments", text_passes.comments),
    Pass("docstrings", "docstrings", text_passes.docstrings),
    Pass("blank-lines", "empty lines", text_passes.blank_lines),
    Pass("parentheses", "parentheses that are of no use", text_passes.parentheses),
    Pass("one-line", "statements of several lines in one", text_passes.one_line),
    Pass("outputs", "one output of several", gpu_passes.outputs),
    Pass("data", "data becomes zeros, ones, or counts up", gpu_passes.data),
    Pass("direct-calls", "functions that are called, not compiled before", inlining_passes.direct_calls),
    Pass("checks", "assertions, prints and calls that check", slicing_passes.checks),
    Pass("bound-parameters", "parameters of one value become it", inlining_passes.bound_parameters),
    Pass("constants", "names of one constant become it", value_passes.constants),
    Pass("global-constants", "variables of the module that are set once", value_passes.global_constants),
    Pass("unpacked", "names of a tuple of constants become them", value_passes.unpacked),
    Pass("aliases", "names of other names become them", value_passes.aliases),
    Pass("elements", "an element of a tuple that is unpacked where it is read", value_passes.elements),
    Pass("folded", "what is computed of constants", expression_passes.folded),
    Pass("parameters", "parameters that are not read, with their arguments", definition_passes.unused_parameters),
    Pass("returned", "functions return what is read", result_passes.returned),
    Pass("direct-returns", "a tuple returned as it is made", result_passes.direct_returns),
    Pass("apart", "what has nothing to do with the finding", executed_passes.apart, executed_passes.FOUND),
    Pass("unread", "values that nothing reads, with what is computed for them", slicing_passes.unread),
    Pass("expression-helpers", "functions that return an expression become it", inlining_passes.expression_helpers),
    Pass("helpers", "functions that are called once go where they are called", inlining_passes.helpers),
    Pass("effects", "copies, stores, calls and loops, with what is computed for them", slicing_passes.effects),
    Pass("optional-arguments", "keyword arguments, with what is computed for them", slicing_passes.optional_arguments),
    Pass("branches", "an `if` becomes one of its blocks", statement_passes.branches),
    Pass("nested-branches", "an `if` with nothing but another in it", statement_passes.nested_branches),
    Pass("unreachable", "what follows `return`, `raise` and the like", statement_passes.unreachable),
    Pass("stages", "fewer stages, iterations and batches", gpu_passes.stages),
    Pass("sizes", "every number of one value halved", gpu_passes.sizes),
    Pass("launches", "fewer blocks, threads and clusters", gpu_passes.launches),
    Pass("halves", "halves of blocks", statement_passes.halves),
    Pass("compound", "whole loops, branches and functions", statement_passes.compound_statements),
    Pass("outer", "statements of the module and of functions", statement_passes.outer_statements),
    Pass("inner", "statements within blocks", statement_passes.inner_statements),
    Pass("waits", "barriers, fences, waits and copies", gpu_passes.waits),
    Pass("blocks", "the body in place of `with`, `try`, `for`, `while`", statement_passes.blocks_opened),
    Pass("loops", "loops run once", statement_passes.loops),
    Pass("next-uses", "values that only the next statement reads go there", value_passes.next_uses),
    Pass("single-uses", "values that are read once go where they are read", value_passes.single_uses),
    Pass("thread-places", "which thread it is where that is read", gpu_passes.thread_places),
    Pass("short-values", "what is computed of few names where it is read", value_passes.short_values),
    Pass("with-uses", "what defines a name, with all that needs it", statement_passes.statements_with_uses),
    Pass("local-attributes", "attributes of `self` become variables", class_passes.local_attributes),
    Pass("global-attributes", "attributes of `self` become variables of the module", class_passes.global_attributes),
    Pass("methods", "methods become functions", class_passes.methods),
    Pass("bases", "classes without bases, definitions without decorators", class_passes.bases),
    Pass("arguments", "keyword arguments and elements", definition_passes.arguments),
    Pass("annotations", "types of results, parameters and variables", expression_passes.types),
    Pass("kinds", "kinds of numbers become plainer", gpu_passes.kinds),
    Pass("ptx-texts", "functions and runs of instructions of PTX in strings", expression_passes.ptx_texts),
    Pass("ptx-text-lines", "single instructions of PTX in strings", expression_passes.ptx_text_lines),
    Pass("strings", "strings become empty", expression_passes.strings, is_fine=True),
    Pass("subexpressions", "an expression becomes one of its parts", expression_passes.subexpressions, is_fine=True),
    Pass("extents", "single numbers halved", gpu_passes.extents, is_fine=True),
    Pass("zeros", "computed values become 0", expression_passes.zeros, is_fine=True),
    Pass("ones", "computed values become 1", expression_passes.ones, is_fine=True),
    Pass("small-numbers", "single numbers become 1 or 0", gpu_passes.small_numbers, is_fine=True),
    Pass("commas", "commas after the last item", text_passes.commas),
)
PTX = (
    Pass("ptx-functions", "entries and functions", ptx_passes.functions),
    Pass("ptx-notes", "what is for debuggers", ptx_passes.notes),
    Pass("ptx-comments", "comments and empty lines", ptx_passes.comments),
    Pass("ptx-runs", "instructions between labels", ptx_passes.runs),
    Pass("ptx-unread", "instructions whose result nothing reads", ptx_passes.unread),
    Pass("ptx-instructions", "single instructions", ptx_passes.instructions),
    Pass("ptx-guards", "guarded instructions always", ptx_passes.guards),
    Pass("ptx-labels", "labels to which nothing goes", ptx_passes.labels),
    Pass("ptx-copies", "registers that are copies", ptx_passes.copies),
    Pass("ptx-operands", "numbers in place of registers, smaller numbers", ptx_passes.operands),
    Pass("ptx-registers", "registers that nothing uses", ptx_passes.registers),
    Pass("ptx-hints", "directives about launches", ptx_passes.hints),
    Pass("ptx-parameters", "parameters that are not read", ptx_passes.parameters),
)
SCHEDULE = (Pass("decisions", "fewer decisions of a schedule", schedules.decisions),)
DELAYS = (Pass("delays", "fewer delays of a list", schedules.delays),)
LANGUAGES: dict[str, tuple[Pass, ...]] = {"python": PYTHON, "ptx": PTX, "schedule": SCHEDULE, "delays": DELAYS}


def named(name: str) -> tuple[str, Pass]:
    """The language and the pass of a name. Raises KeyError."""
    for language, passes in LANGUAGES.items():
        for each in passes:
            if each.name == name:
                return language, each
    raise KeyError(name)
