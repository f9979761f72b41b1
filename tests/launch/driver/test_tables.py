"""The table of errors, and cuda.h as cuda.bindings have it."""

from cuda.bindings import driver

from dsl.launch.driver import tables


def test_every_error_of_cuda_h_has_its_number():
    ours = {code: name for code, (name, _) in tables.errors().items()}
    theirs = {int(each): each.name for each in driver.CUresult}
    assert {code: ours.get(code) for code in theirs} == theirs
    assert all(text for _, text in tables.errors().values())
