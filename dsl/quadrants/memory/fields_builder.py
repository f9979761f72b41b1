"""`qd.FieldsBuilder`: fields that are made together, and given back together."""

from __future__ import annotations

from dsl.quadrants.errors.errors import QuadrantsRuntimeError
from dsl.quadrants.memory.field import Field, SNode


class FieldsBuilder:
    """A tree of fields besides qd.root: place fields, finalize it, and later destroy the tree it returned."""

    def __init__(self):
        self._fields: list[Field] = []
        self._finalized = False

    def dense(self, axes, dimensions) -> SNode:
        """`dimensions` cells along each of `axes`."""
        self._check()
        return SNode({}, self._fields).dense(axes, dimensions)

    def place(self, *fields, offset=None) -> FieldsBuilder:
        """Fields without dimensions."""
        self._check()
        SNode({}, self._fields).place(*fields, offset=offset)
        return self

    def lazy_grad(self) -> None:
        """Do nothing: no field here has a gradient."""

    lazy_dual = deactivate_all = lazy_grad

    def _sparse(self, *_arguments, **_options):
        return SNode({})._unsupported()

    pointer = bitmasked = dynamic = quant_array = _sparse

    def finalize(self, raise_warning: bool = True) -> SNodeTree:
        """The fields can be used from now on, and no more placed."""
        self._check()
        self._finalized = True
        for field in self._fields:
            field.unusable = None
        return SNodeTree(self._fields)

    def _check(self) -> None:
        if self._finalized:
            raise QuadrantsRuntimeError("FieldsBuilder finalized", "make another qd.FieldsBuilder() for more fields")


class SNodeTree:
    """The fields of a finalized builder."""

    def __init__(self, fields: list[Field]):
        self._fields, self.destroyed = fields, False

    def destroy(self) -> None:
        """Give their memory back. Raises QuadrantsRuntimeError the second time."""
        if self.destroyed:
            raise QuadrantsRuntimeError("SNode tree has been destroyed", "destroy it once")
        self.destroyed = True
        for field in self._fields:
            field.give_back()
