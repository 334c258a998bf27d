# SPDX-License-Identifier: Apache-2.0
"""Functions of this module that are written in C, because calling a Python function takes a tenth of a microsecond. Each
has one in Python beside it, which torch.compile traces in its place and which gets the calls that the other leaves."""
import importlib.abc
import importlib.util
import inspect
import sys
from typing import Any, Callable, Dict, Optional, TypeVar, cast

from .. import _native

_F = TypeVar("_F", bound=Callable[..., Any])
_traced: Dict[Any, Any] = {}


def _substitute() -> None:
    import torch

    while _traced:
        made, function = _traced.popitem()
        torch.compiler.substitute_in_graph(made, skip_signature_check=True)(function)


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function when a module has been imported by somebody else, whose import takes more than a second."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name, self.then = name, then

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[Any]:
        """Returns the spec that others find for that module, with the function after its execution."""
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                self.then()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def in_c(function: _F) -> _F:
    """Returns the function in C with this name, arguments and description."""
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in
                  inspect.signature(function).parameters.values()]
    document = f"{function.__name__}{inspect.Signature(parameters)}\n--\n\n{inspect.getdoc(function)}"
    made = _native.torch_entry(function.__name__, document, function)
    _traced[made] = function
    return cast(_F, made)


def register() -> None:
    """Tells torch.compile what to trace, now or when it is first used."""
    if "torch._dynamo" in sys.modules:
        _substitute()
    else:
        sys.meta_path.insert(0, _AfterImport("torch._dynamo", _substitute))
