"""Sizes of the datatypes of a DUMPI file, and operators by their numbers there
(`common/constants.h` of sst-dumpi)."""

from __future__ import annotations

import math
from typing import Any

from chasqui.playing.form import Operator, Type, operator
from chasqui.playing.source import Place

FIRST_OWN = 28  # the number of the first datatype that a program makes
CHARACTERS, BYTE = (2, 3, 4), 5
INTEGERS = (6, 7, 8, 9, 10, 11, 12, 16, 17, 18)
FLOATING = (13, 14)
INTEGER_OF = {1: Type.CHAR, 2: Type.SHORT, 4: Type.INT, 8: Type.LONG}
FLOAT_OF = {4: Type.FLOAT, 8: Type.DOUBLE}
OPERATORS = {
    1: Operator.MAX, 2: Operator.MIN, 3: Operator.SUM, 4: Operator.PROD, 5: Operator.LAND,
    6: Operator.BAND, 7: Operator.LOR, 8: Operator.BOR, 9: Operator.LXOR, 10: Operator.BXOR,
}  # fmt: skip
# With MPI_BYTE these alone are defined (MPI 4.1, 6.9.2).
OF_BYTES = (Operator.BAND, Operator.BOR, Operator.BXOR)
# Calls that make one.
BUILT = (
    "type_contiguous", "type_vector", "type_hvector", "type_indexed", "type_hindexed",
    "type_struct", "type_create_hvector", "type_create_hindexed", "type_create_struct",
    "type_create_indexed_block", "type_create_resized", "type_dup", "type_create_subarray",
)  # fmt: skip


class Types:
    """Those of one rank. The file has the sizes of those that are there from the start."""

    def __init__(self, place: Place) -> None:
        self.sizes: dict[int, int] = {}  # bytes of data in one of them
        self._place = place

    def of(self, number: int) -> int:
        if number not in self.sizes:
            self._place.refuse(f"datatype {number}, whose size is not known")
        return self.sizes[number]

    def bytes(self, count: int, number: int) -> int:
        """Of so many; none has no datatype."""
        return self._count(count) * self.of(number) if count else 0

    def _count(self, count: int) -> int:
        if count < 0:
            self._place.refuse(f"count {count}; a count is not negative")
        return count

    def _counts(self, counts: Any, count: int) -> list[int]:
        return [self._count(counts[i]) for i in range(self._count(count))]

    def build(self, name: str, data: Any) -> None:
        """Keeps what a call has made."""
        self.sizes[data.newtype] = self._size(name.removeprefix("type_"), data)

    def _size(self, name: str, data: Any) -> int:
        lengths: Any
        if name in ("struct", "create_struct"):
            lengths = data.lengths if name == "struct" else data.blocklengths
            counts = self._counts(lengths, data.count)
            return sum(each * self.of(data.oldtypes[i]) for i, each in enumerate(counts))
        old = self.of(data.oldtype)
        if name in ("create_resized", "dup"):
            return old
        if name == "contiguous":
            return self._count(data.count) * old
        if name in ("indexed", "hindexed", "create_hindexed"):
            lengths = data.blocklengths if name == "create_hindexed" else data.lengths
            return sum(self._counts(lengths, data.count)) * old
        if name == "create_subarray":
            return math.prod(self._counts(data.subsizes, data.ndims)) * old
        return self._count(data.count) * self._count(data.blocklength) * old

    def reduction(self, op: int, number: int) -> int:
        """The operator as an action has it. Of what has none here nothing is computed: one of the
        program's own, MPI_MINLOC and MPI_MAXLOC, and those of types that are not C's simple
        ones."""
        found, size = OPERATORS.get(op, Operator.NONE), self.of(number)
        kind = None
        if number in (*CHARACTERS, *INTEGERS):
            kind = INTEGER_OF.get(size)
        elif number in FLOATING:
            kind = FLOAT_OF.get(size)
        elif number == BYTE and found in OF_BYTES:
            kind = Type.BYTE
        if kind is None or found is Operator.NONE:
            return operator(Operator.NONE, Type.BYTE)
        return operator(found, kind)
