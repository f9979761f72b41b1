"""The works that claims cite: `bibliography.toml` next to the repros, or in a folder above them in the project.

[fasi2021]                       # cited by `evidence = "published:fasi2021"`
authors = "M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh"
title = "Numerical behavior of NVIDIA tensor cores"
year = 2021
doi = "10.7717/peerj-cs.330"     # or arxiv = "2511.10909", or url = "https://..."
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness import schema

NAME = "bibliography.toml"
PUBLISHED = "published:"


class BadBibliography(Exception):
    """A bibliography that cannot be read; the text names the file and the reason."""


@dataclass(frozen=True)
class Work:
    """A published work, and where to find it."""

    authors: str = schema.must(schema.string(1000))
    title: str = schema.must(schema.string(1000))
    year: int = schema.must(schema.integer(1900, 2200))
    doi: str = schema.must(schema.string(300), "")
    arxiv: str = schema.must(schema.string(100), "")
    url: str = schema.must(schema.string(1000), "")

    def __str__(self) -> str:
        """`M. Fasi and others 2021: Numerical behavior of NVIDIA tensor cores (doi:10.7717/peerj-cs.330)`"""
        first, *others = [name.strip() for name in self.authors.split(",")]
        places = [("doi:", self.doi), ("arXiv ", self.arxiv), ("", self.url)]
        where = next((mark + text for mark, text in places if text), "")
        return f"{first}{' and others' if others else ''} {self.year}: {self.title}" + (f" ({where})" if where else "")


_work = schema.fields(Work)


def find(folder: Path, root: Path) -> Path | None:
    """The bibliography of repros in this folder."""
    for above in (folder, *folder.parents):
        if (above / NAME).is_file():
            return above / NAME
        if above == root:
            break
    return None


def read(path: Path | None) -> dict[str, Work]:
    """The works by their keys; none without a file. Raises BadBibliography."""
    if path is None:
        return {}
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        return {key: _work(one, key) for key, one in table.items()}
    except (OSError, ValueError, schema.Misfit) as error:
        raise BadBibliography(f"{path}: {error}") from None
