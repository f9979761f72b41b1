"""Being told of an import."""

import sys
from types import ModuleType

from harness.capture.importing import replace_everywhere, when_imported


def test_a_module_is_changed_before_its_importer_sees_it(tmp_path, monkeypatch):
    (tmp_path / "imported_late.py").write_text("VALUE = 1\n")
    (tmp_path / "imports_it.py").write_text("from imported_late import VALUE\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    when_imported("imported_late", lambda module: (seen.append(module.VALUE), setattr(module, "VALUE", 2)))
    assert seen == []
    import imports_it

    assert seen == [1] and imports_it.VALUE == 2
    module = sys.modules["imported_late"]
    assert type(module.__spec__.loader).__name__ == type(module.__loader__).__name__ == "SourceFileLoader"
    when_imported("imported_late", lambda module: seen.append(module.VALUE))
    assert seen == [1, 2]


def test_a_module_that_is_not_there_stays_missing():
    when_imported("nowhere_at_all", print)
    try:
        import nowhere_at_all  # noqa: F401
    except ModuleNotFoundError as error:
        assert error.name == "nowhere_at_all"
    else:
        raise AssertionError


def test_a_name_is_replaced_where_it_was_imported(monkeypatch):
    made = {}
    for name, value in {"theirs": 1, "theirs.inside": 1, "mine": 1, "other": 2}.items():
        made[name] = ModuleType(name)
        made[name].launch = value
        monkeypatch.setitem(sys.modules, name, made[name])
    replace_everywhere("launch", 1, 3, but_in="theirs")
    assert [each.launch for each in made.values()] == [3, 1, 3, 2]
