"""What the two drivers share."""

from dsl.launch.driver import tables


def test_functions_by_name_and_release():
    rows = tables.functions()
    assert ("cuInit", 2000, "cuInit") in rows and ("cuMemAlloc", 3020, "cuMemAlloc_v2") in rows
    assert ("cuLaunchKernel", 4000, "cuLaunchKernel") in rows  # which has a form for streams of threads
    assert len(tables.symbols()) == len(set(tables.symbols())) > 560
