# SPDX-License-Identifier: Apache-2.0
"""Errors that Python code of this package raises, worded as the extension words its own."""
from typing import Any

from ._native import InvalidError


def invalid(argument: str, expected: str, actual: Any) -> InvalidError:
    """An InvalidError that names the argument, what was expected and what was given."""
    error = InvalidError(f"invalid: argument {argument}: expected {expected}, got {actual}")
    error.argument, error.expected, error.actual = argument, expected, str(actual)
    return error
