"""Which headers of NVIDIA are used."""

from dsl.launch import toolkit


def test_packages_come_before_the_toolkit(tmp_path, monkeypatch):
    package, installed = tmp_path / "site", tmp_path / "cuda"
    for top in (package / "nvidia/cu13/include", installed / "include"):
        (top / "cccl").mkdir(parents=True)
        (top / "cuda_fp16.h").touch()
    monkeypatch.setattr(toolkit, "FOLDER", installed)
    monkeypatch.setattr("sys.path", ["", str(tmp_path), str(package)])
    top = package / "nvidia/cu13/include"
    assert toolkit.include_folders() == [top, top / "cccl"]
    monkeypatch.setattr("sys.path", [])
    assert toolkit.include_folders()[0] == installed / "include"
    monkeypatch.setattr(toolkit, "FOLDER", tmp_path)
    assert toolkit.include_folders() == []
