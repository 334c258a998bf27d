# SPDX-License-Identifier: Apache-2.0
"""Puts warpwright.compat.deep_gemm where a process imports deep_gemm from."""
import importlib
import importlib.machinery
import logging
import os
import sys
import types
from typing import Any, Dict, List, Optional

_log = logging.getLogger("warpwright")

_PACKAGE = "warpwright.compat.deep_gemm"
_PARTS = ("", ".utils", ".utils.layout", ".utils.math", ".testing", ".testing.bench", ".testing.numeric",
          ".testing.utils")
_installed: Dict[str, "types.ModuleType"] = {}


class _Overlay(types.ModuleType):
    """A module of DeepGEMM's name whose names are ours first, then those of the DeepGEMM that is installed, if any."""

    def __init__(self, name: str, ours: types.ModuleType, real: Optional[types.ModuleType]) -> None:
        super().__init__(name, ours.__doc__)
        self._ours = ours
        self._real = real
        self.__path__: List[str] = list(getattr(real, "__path__", None) or getattr(ours, "__path__", []))
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=hasattr(ours, "__path__"))
        self.__spec__.submodule_search_locations = self.__path__ if hasattr(ours, "__path__") else None
        self.__file__ = ours.__file__

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") or name == "__version__":
            if hasattr(self._ours, name):
                return getattr(self._ours, name)
            if self._real is not None and hasattr(self._real, name):
                return getattr(self._real, name)
        raise AttributeError(f"module {self.__name__!r} (warpwright) has no attribute {name!r}")

    def __dir__(self) -> List[str]:
        return sorted(set(dir(self._ours)) | set(dir(self._real) if self._real is not None else ()))


def _find(name: str) -> Optional[types.ModuleType]:
    try:
        return importlib.import_module(name)
    except Exception as why:  # an installed deep_gemm may need libraries that are not here
        if not isinstance(why, ModuleNotFoundError):
            _log.info("warpwright: the installed %s cannot be imported (%s), so only warpwright's names exist", name, why)
        return None


def _install_as(root: str) -> List[str]:
    replaced = []
    for part in _PARTS:
        name = root + part
        if name in _installed:
            continue
        ours = importlib.import_module(_PACKAGE + part)
        real = _find(name)
        overlay = _Overlay(name, ours, real)
        _installed[name] = overlay
        if real is not None:
            replaced.append(name)
    # All of them at once, and after the real ones were imported by their own names.
    for part in _PARTS:
        overlay_of_part = _installed[root + part]
        sys.modules[root + part] = overlay_of_part
        parent, _, leaf = (root + part).rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], leaf, overlay_of_part)
    return replaced


def install(vendored: bool = True) -> None:
    """Makes `import deep_gemm` give this library's functions in this process. An installed DeepGEMM keeps the names that
    this library lacks. With `vendored`, the copies in vllm.third_party and sglang are replaced where they exist. May be
    called again; modules that had imported functions by name before keep those."""
    roots = ["deep_gemm"]
    if vendored and "vllm" in sys.modules and _find("vllm.third_party") is not None:
        roots.append("vllm.third_party.deep_gemm")
    for root in roots:
        first = root not in _installed
        replaced = _install_as(root)
        if first:
            _log.warning("warpwright: %s is served by warpwright.compat.deep_gemm%s", root,
                         "; the installed one keeps its other names" if replaced else "")


def uninstall() -> None:
    """Undoes install() for later imports."""
    for name, overlay in list(_installed.items()):
        real = overlay._real  # type: ignore[attr-defined]
        if real is not None:
            sys.modules[name] = real
        else:
            sys.modules.pop(name, None)
        parent, _, leaf = name.rpartition(".")
        if parent in sys.modules:
            if real is not None:
                setattr(sys.modules[parent], leaf, real)
            else:
                sys.modules[parent].__dict__.pop(leaf, None)
        del _installed[name]


def install_if_requested() -> None:
    """The entry point of vLLM's and SGLang's plugins: installs if WARPWRIGHT_DEEP_GEMM=1, and otherwise does nothing."""
    if os.environ.get("WARPWRIGHT_DEEP_GEMM") == "1":
        install()
