# SPDX-License-Identifier: Apache-2.0
"""deep_gemm.testing.utils."""
import functools
import os
from typing import Any, Callable

import torch


def get_arch_major() -> int:
    return torch.cuda.get_device_capability()[0]


def test_filter(condition: Callable[[], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Skips the function unless the condition holds."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def filtered(*arguments: Any, **given: Any) -> Any:
            if condition():
                return function(*arguments, **given)
            print(f"{function.__name__}: skipped, because its condition does not hold")
            return None
        return filtered
    return decorate


test_filter.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest's


def ignore_env(name: str, condition: Callable[[], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Runs the function without the environment variable if the condition holds."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def without(*arguments: Any, **given: Any) -> Any:
            saved = os.environ.pop(name, None) if condition() else None
            try:
                return function(*arguments, **given)
            finally:
                if saved is not None:
                    os.environ[name] = saved
        return without
    return decorate
