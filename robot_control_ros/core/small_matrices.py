"""Products and solutions with matrices of a few rows, for compiled code.

They are plain loops: for six or seven rows they take no longer than LAPACK, and they raise nothing.
"""

from __future__ import annotations

import math

import numpy as np

from .compiled import compiled
from .types import Array


@compiled
def cholesky_into(matrix: Array, lower: Array) -> bool:
    """Write the factor L (m, m) of a symmetric matrix L Lᵀ (m, m) into `lower`.

    Returns:
        False where the matrix isn't positive definite.
    """
    size = matrix.shape[0]
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= lower[i, k] * lower[j, k]
            if i > j:
                lower[i, j] = rest / lower[j, j]
            elif rest > 0.0:
                lower[i, i] = math.sqrt(rest)
            else:  # or not a number
                return False
        for j in range(i + 1, size):
            lower[i, j] = 0.0
    return True


@compiled
def solve_with_factor(lower: Array, columns: Array) -> None:
    """Solve L Lᵀ X = B in place: `columns` (m, k) is B before and X afterwards;
    L (m, m) is `lower`.
    """
    size, count = columns.shape
    for c in range(count):
        for i in range(size):
            rest = columns[i, c]
            for k in range(i):
                rest -= lower[i, k] * columns[k, c]
            columns[i, c] = rest / lower[i, i]
        solve_transposed(lower, columns, c)


@compiled
def solve_transposed(lower: Array, columns: Array, c: int) -> None:
    """Solve Lᵀ x = b in place for one column c of `columns` (m, k); L (m, m) is `lower`."""
    size = columns.shape[0]
    for i in range(size - 1, -1, -1):
        rest = columns[i, c]
        for k in range(i + 1, size):
            rest -= lower[k, i] * columns[k, c]
        columns[i, c] = rest / lower[i, i]


@compiled
def mobility_into(mass: Array, jacobian: Array, mobility: Array) -> bool:
    """Write J M⁻¹ Jᵀ (m, m) of a mass (n, n) and a Jacobian (m, n) into `mobility`.

    Returns:
        False where M isn't positive definite.
    """
    return accelerations_into(mass, jacobian, jacobian.T.copy(), mobility)


@compiled
def accelerations_into(mass: Array, jacobian: Array, torques: Array, result: Array) -> bool:
    """Write J M⁻¹ B (m, k): the accelerations of a task by joint torques.

    Args:
        mass: Mass matrix M (n, n).
        jacobian: Jacobian J (m, n).
        torques: Columns B (n, k) of joint torques, which become M⁻¹ B.
        result: Result (m, k).

    Returns:
        False where M isn't positive definite; nothing is computed then.
    """
    lower = np.empty_like(mass)
    if not cholesky_into(mass, lower):
        return False
    solve_with_factor(lower, torques)
    product_into(jacobian, torques, result)
    return True


@compiled
def length(vector: Array) -> float:
    """Length of a vector (3,)."""
    return math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)


@compiled
def transposed_times(matrix: Array, vector: Array, result: Array) -> None:
    """Write Aᵀ x (n,) of A (m, n) and x (m,) into `result`."""
    rows, columns = matrix.shape
    for j in range(columns):
        total = 0.0
        for i in range(rows):
            total += matrix[i, j] * vector[i]
        result[j] = total


@compiled
def times(matrix: Array, vector: Array, result: Array) -> None:
    """Write A x (m,) of A (m, n) and x (n,) into `result`, which is another array than x."""
    rows, columns = matrix.shape
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += matrix[i, j] * vector[j]
        result[i] = total


@compiled
def product_into(a: Array, b: Array, result: Array) -> None:
    """Write A B (m, k) of A (m, n) and B (n, k) into `result`, which is another array than both."""
    rows, inner = a.shape
    columns = b.shape[1]
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for k in range(inner):
                total += a[i, k] * b[k, j]
            result[i, j] = total


@compiled
def congruence_into(a: Array, x: Array, result: Array) -> None:
    """Write Xᵀ A X (m, m) of A and X (m, m) into `result`, which is another array than both."""
    product = np.empty_like(a)
    product_into(a, x, product)
    product_into(x.T.copy(), product, result)
