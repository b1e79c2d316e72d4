"""Records: rows of numbers with names, for Python and for compiled functions alike.

A record is declared once, as a list of fields. Its memory is a plain array of float64, (length,
width). Python sees a row by name, ``log["torque"]``. A compiled function sees it through a
namedtuple of views, ``cycle.torque``. One compilation serves every robot, since the number of
joints is an argument.
"""

from __future__ import annotations

import hashlib
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

from .errors import refused
from .types import Array

JOINTS = "n"  # in a shape: the number of joints
Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Field:
    """One quantity of a record.

    Attributes:
        name: Name of the quantity, an identifier.
        shape: () is one number, (6,) six, ("n",) one for each joint, (6, "n") a matrix.
        unit: SI unit.
        meaning: Meaning of the quantity in one sentence.
        frame: Axes and origin to which it refers; empty where that has no meaning.
        first: Number with which a new record begins.
        kept: True where recorders keep it; False for quantities that can be computed again.
    """

    name: str
    shape: Shape
    unit: str
    meaning: str
    frame: str = ""
    first: float = 0.0
    kept: bool = True

    def sizes(self, n: int) -> tuple[int, ...]:
        """The shape of the field for n joints."""
        return tuple(n if isinstance(size, str) else size for size in self.shape)


class Record:
    """A declared record.

    Args:
        name: Name of the namedtuple that compiled functions see.
        fields: Fields in the order of the memory; those that are kept come first.

    Attributes:
        name: Name of the namedtuple.
        fields: Fields in the order of the memory.
        views: Compiled function ``views(row, n)`` that returns a namedtuple of views into a row
            (width,), for compiled functions. One number is a view (1,). The views don't keep the
            row alive: where a function has made the row itself, it must still use the row after the
            views.

    Raises:
        ConfigError: a name stands twice, a shape has more than two sizes, or a kept field follows
            one that isn't.
    """

    def __init__(self, name: str, fields: Sequence[Field]) -> None:
        names = [field.name for field in fields]
        for field in fields:
            if names.count(field.name) > 1:
                raise refused(
                    "name", field.name, "must stand once in a record", where=f"record {name}: "
                )
            if len(field.shape) > 2:
                raise refused(
                    "shape", field.shape, "must have two sizes at most", 2, where=f"record {name}: "
                )
        kept = [field.kept for field in fields]
        if sorted(kept, reverse=True) != kept:
            late = names[kept.index(False)]
            raise refused(
                "kept", late, "must come after all fields that are kept", where=f"record {name}: "
            )
        self.name = name
        self.fields = tuple(fields)
        self.views = _compiled_views(name, self.fields)
        self._dtypes: dict[int, np.dtype[Any]] = {}

    def dtype(self, n: int) -> np.dtype[Any]:
        """The structured type of a row for n joints."""
        if n not in self._dtypes:
            self._dtypes[n] = np.dtype(
                [(field.name, "f8", field.sizes(n)) for field in self.fields]
            )
        return self._dtypes[n]

    @property
    def kept(self) -> tuple[Field, ...]:
        """The fields that recorders keep, which are the first ones."""
        return tuple(field for field in self.fields if field.kept)

    def kept_dtype(self, n: int) -> np.dtype[Any]:
        """The structured type of the part of a row that recorders keep."""
        return np.dtype([(field.name, "f8", field.sizes(n)) for field in self.kept])

    def width(self, n: int) -> int:
        """Number of floats in a row for n joints."""
        return self.dtype(n).itemsize // 8

    def kept_width(self, n: int) -> int:
        """Number of floats of a row that recorders keep."""
        return sum(math.prod(field.sizes(n)) for field in self.kept)

    def place(self, name: str, n: int) -> int:
        """Place at which a field begins in a row for n joints."""
        names = [field.name for field in self.fields]
        return sum(math.prod(field.sizes(n)) for field in self.fields[: names.index(name)])

    def memory(self, length: int, n: int) -> tuple[Array, Any]:
        """Make a new memory, each field with its first number.

        Returns:
            The plain array (length, width) for compiled functions, and the same memory by name,
            (length,).
        """
        plain = np.zeros((length, self.width(n)))
        named = plain.view(self.dtype(n)).reshape(length)
        for field in self.fields:
            if field.first:
                named[field.name] = field.first
        return plain, named

    def single(self, n: int) -> tuple[Array, Any]:
        """Make a new row (width,), each field with its first number.

        Returns:
            The plain row (width,), and the same memory by name.
        """
        rows, named = self.memory(1, n)
        return rows[0], named[0]

    def by_name(self, row: Array, n: int) -> Any:
        """View of a row (width,) by name."""
        return row.view(self.dtype(n))[0]


def vector_at(row: Array, begin: int, size: int) -> Array:
    """Part of a row, as a vector (size,) that is a view of it."""
    return row[begin : begin + size]


def matrix_at(row: Array, begin: int, rows: int, columns: int) -> Array:
    """Part of a row, as a matrix (rows, columns) that is a view of it."""
    return row[begin : begin + rows * columns].reshape(rows, columns)


# In compiled functions both are an address and a shape: a slice would count the row's users for
# each field.


@overload(vector_at, inline="always")
def _vector_at(row, begin, size):  # type: ignore[no-untyped-def]  # it compares these words with the lambda's
    return lambda row, begin, size: _compiled_vector(row, begin, size)


@overload(matrix_at, inline="always")
def _matrix_at(row, begin, rows, columns):  # type: ignore[no-untyped-def]
    return lambda row, begin, rows, columns: _compiled_matrix(row, begin, rows, columns)


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def _compiled_vector(context: Any, row: Any, begin: Any, size: Any) -> Any:
    return types.Array(row.dtype, 1, "C")(row, types.intp, types.intp), _build_view


@intrinsic  # type: ignore[untyped-decorator]  # Numba has no types
def _compiled_matrix(context: Any, row: Any, begin: Any, rows: Any, columns: Any) -> Any:
    return types.Array(row.dtype, 2, "C")(row, types.intp, types.intp, types.intp), _build_view


def _build_view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate the code for a view of a row (width,) in C order, from its begin and its shape."""
    row, begin, *shape = arguments
    source = make_array(signature.args[0])(context, builder, value=row)
    strides = [source.itemsize]
    for size in shape[:0:-1]:
        strides.insert(0, builder.mul(size, strides[0]))
    view = make_array(signature.return_type)(context, builder)
    populate_array(
        view,
        data=builder.gep(source.data, [begin], inbounds=True),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=source.itemsize,
        meminfo=None,
        parent=None,
    )
    return impl_ret_untracked(context, builder, signature.return_type, view._getvalue())


def _compiled_views(name: str, fields: tuple[Field, ...]) -> Callable[[Array, int], Any]:
    """Make the function that makes the views; its text is generated, two lines for each field.

    Its name depends on its text alone. Numba's cache distinguishes two functions of one module by
    their names, and by a number that every process counts anew. With a counted name, functions
    that two processes have compiled would be mixed up.
    """
    lines = ["    begin = 0"]
    for field in fields:
        count = " * ".join(str(size) for size in field.shape) or "1"
        sizes = ", ".join(str(size) for size in field.shape) or "1"
        kind = "matrix_at" if len(field.shape) == 2 else "vector_at"
        lines.append(f"    {field.name} = {kind}(row, begin, {sizes})")
        lines.append(f"    begin += {count}")
    lines.append(f"    return {name}({', '.join(field.name for field in fields)})")
    text = "\n".join(lines)
    function = f"views_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    space: dict[str, Any] = {
        name: namedtuple(name, [field.name for field in fields]),  # names are data
        "vector_at": vector_at,
        "matrix_at": matrix_at,
    }
    exec(f"def {function}(row, n):\n{text}", space)
    return numba.njit(nogil=True, error_model="numpy")(space[function])  # type: ignore[no-any-return]
