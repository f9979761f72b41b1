"""PTX of one program has one hash, wherever its file is."""

from dsl.lower.ptx_identity import ptx_sha256, without_folders

PTX = '.visible .entry k() {{\n  // "{0}left.py"\n  .loc 1 3 0\n  ret;\n}}\n.file 1 "{0}k.py"\n  .file\t2 "{0}more/h.cuh", 17, 4\n'


def test_only_the_folders_of_files_are_left_out():
    wanted = PTX.format("").replace("more/", "").replace('"left.py"', '"/a b/left.py"')
    assert without_folders(PTX.format("/a b/")) == wanted


def test_the_hash_depends_on_the_program_and_the_name_of_its_file():
    first = ptx_sha256('ret;\n.file 1 "/a/k.py"\n')
    assert first == ptx_sha256('ret;\n.file 1 "/b/c/k.py"\n') == ptx_sha256('ret;\n.file 1 "k.py"\n')
    others = {ptx_sha256(text) for text in ('ret;\n.file 1 "/a/l.py"\n', 'exit;\n.file 1 "/a/k.py"\n')}
    assert len(others | {first}) == 3
