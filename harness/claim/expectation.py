"""How NVIDIA's compiler is expected to differ from the claim of a repro: the key `nvidia` of its block.

    # nvidia = { rejected = "UNSUP_EARLY_EXIT" }      every release refuses the program, with this id or words
    # nvidia = { outputs = { out = [1, 2] } }                these outputs have other values
    # nvidia = { xfail = "reads the wrong lane" }            the claim does not hold, in whatever way
    # nvidia = { "<4.7" = { rejected = "ID" }, ">=4.7,<4.9" = { xfail = "wrong lane" }, ">=4.9" = "passes" }

Releases that no specifier names are held to the claim, like releases with the value "passes".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

PASSES = "passes"
_KINDS = ("rejected", "outputs", "xfail")
_FIX = (
    'write { rejected = "UNSUP_EARLY_EXIT" }, { outputs = { out = [1, 2] } } with the values that differ, or '
    '{ xfail = "why" }; or one of them for some releases: { "<4.7" = { rejected = "ID" }, ">=4.7" = "passes" }'
)
_SPECIFIER_FIX = 'write releases as packages do: "<4.7", ">=4.7,<4.9", "==4.6.3"'


@dataclass(frozen=True, slots=True)
class Otherwise:
    """How a program ends under a compiler other than ours, if it does not end as claimed.

    rejected: the diagnostic's id, or words of the message if it has no id; None if the program compiles. outputs:
    nested lists of the values of those outputs that differ. xfail: why the claim does not hold. releases: a specifier
    of the releases for which this is true, '' for all.
    """

    rejected: str | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    xfail: str = ""
    releases: str = ""

    def __str__(self) -> str:
        said = f'xfail = "{self.xfail}"' if self.xfail else f'rejected = "{self.rejected}"'
        if self.outputs:
            said = f"outputs = {{ {', '.join(f'{name} = {value}' for name, value in self.outputs.items())} }}"
        return f'nvidia = {{ "{self.releases}" = {{ {said} }} }}' if self.releases else f"nvidia = {{ {said} }}"


@dataclass(frozen=True, slots=True)
class Expectations:
    """The expectations for each release. False if only the claim is expected."""

    of_all: tuple[Otherwise, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.of_all)

    def of(self, release: str | None) -> Otherwise | None:
        """The expectation for a release in addition to the claim; None: the claim alone. An unknown release is None."""
        for one in self.of_all:
            if not one.releases or (release and _contains(one.releases, release)):
                return one
        return None


def _contains(specifier: str, release: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(Version(release).base_version)  # of 4.7.0rc1 as of 4.7.0
    except InvalidVersion:
        return False


def read(source: Any, table: dict[str, Any]) -> Expectations:
    """Read the key `nvidia`. Raises ReproError."""
    said = table.get("nvidia")
    if said is None:
        return Expectations()
    if not isinstance(said, dict) or not said:
        source.key_error("nvidia", "BAD_NVIDIA", "has none of `rejected`, `outputs` and `xfail`", _FIX)
    if len(said) == 1 and next(iter(said)) in _KINDS:
        return Expectations((_one(source, table, "nvidia", said, ""),))
    unknown = [key for key in said if key[:1].isalpha()]
    if unknown:
        source.key_error("nvidia", "BAD_NVIDIA", "has none of `rejected`, `outputs` and `xfail`", _FIX)
    for specifier in said:
        _check(source, specifier)
    _refuse_overlap(source, list(said))
    rows = [(specifier, one) for specifier, one in said.items() if one != PASSES]
    return Expectations(tuple(_one(source, table, specifier, one, specifier) for specifier, one in rows))


def _one(source: Any, table: dict[str, Any], key: str, said: Any, releases: str) -> Otherwise:
    """The expectation for some releases."""
    if not isinstance(said, dict) or len(said) != 1 or next(iter(said)) not in _KINDS:
        source.key_error(key, "BAD_NVIDIA", "has none of `rejected`, `outputs` and `xfail`", _FIX)
    ((kind, value),) = said.items()
    if kind == "outputs":
        if not (isinstance(value, dict) and value):
            source.key_error(key, "BAD_NVIDIA", "has `outputs` that name none", _FIX)
        if table.get("outcome", "outputs") != "outputs":
            source.key_error(key, "BAD_NVIDIA", "has `outputs`, but the claim is an outcome without any", _FIX)
        return Otherwise(outputs=value, releases=releases)
    if not (isinstance(value, str) and value):
        what = "which is not a diagnostic id" if kind == "rejected" else "which gives no reason"
        source.key_error(key, "BAD_NVIDIA", f"has {kind} = {value!r}, {what}", _FIX)
    if kind == "xfail":
        return Otherwise(xfail=value, releases=releases)
    return Otherwise(rejected=value, releases=releases)


def _check(source: Any, specifier: str) -> None:
    try:
        if not str(SpecifierSet(specifier)):
            raise InvalidSpecifier
    except InvalidSpecifier:
        source.key_error(specifier, "BAD_NVIDIA", "is no releases", _SPECIFIER_FIX)


def _refuse_overlap(source: Any, specifiers: list[str]) -> None:
    """Each release must have one expectation: looked at are the numbers that specifiers name, and between them."""
    named = [one.version.removesuffix(".*") for text in specifiers for one in SpecifierSet(text)]
    looked_at = ["0", "99999", *named, *(f"{number}.0.0.1" for number in named)]
    for place, one in enumerate(specifiers):
        for other in specifiers[place + 1 :]:
            both = [number for number in looked_at if _contains(one, number) and _contains(other, number)]
            if both:
                fix = f'write "{other}" so that it leaves out the releases of "{one}"'
                source.key_error(other, "BAD_NVIDIA", f'and "{one}" both name release {both[0]}', fix)
