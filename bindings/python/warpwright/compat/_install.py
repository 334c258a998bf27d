# SPDX-License-Identifier: Apache-2.0
"""Puts warpwright.compat.deep_gemm where a process imports deep_gemm from."""
import importlib
import importlib.machinery
import importlib.util
import logging
import os
import sys
import threading
import types
from typing import Any, Dict, List, Mapping, Optional

_log = logging.getLogger("warpwright")

_PACKAGE = "warpwright.compat.deep_gemm"
_PARTS = ("", ".utils", ".utils.layout", ".utils.math", ".testing", ".testing.bench", ".testing.numeric",
          ".testing.utils")
_installed: Dict[str, "_Overlay"] = {}
_lock = threading.RLock()


class _Real:
    """An installed DeepGEMM, which is imported when a name is wanted that this library lacks: its import may start CUDA,
    after which a process cannot fork."""

    def __init__(self, root: str) -> None:
        self.root = root
        loaded = {name: module for name, module in sys.modules.items() if name == root or name.startswith(root + ".")}
        self.modules: Optional[Dict[str, types.ModuleType]] = loaded or None
        self.folders: List[str] = []
        try:
            spec = importlib.util.find_spec(root)
            self.folders = list(spec.submodule_search_locations or []) if spec is not None else []
        except (ImportError, ValueError):  # a parent is missing, or a module without a spec stands there
            self.folders = list(getattr(loaded.get(root), "__path__", []))
        self.exists = bool(self.folders or loaded)

    def folders_of(self, part: str) -> List[str]:
        """Where the submodules of a part (".utils") are."""
        inner = part.split(".")[1:]
        return [folder for folder in (os.path.join(one, *inner) for one in self.folders) if os.path.isdir(folder)]

    def module(self, name: str) -> Optional[types.ModuleType]:
        with _lock:
            if self.modules is None:
                self.modules = self._load() if self.exists else {}
            return self.modules.get(name)

    def _load(self) -> Dict[str, types.ModuleType]:
        """Imports the package by its own name, while the overlays are out of the way."""
        def of_package() -> List[str]:
            return [name for name in sys.modules if name == self.root or name.startswith(self.root + ".")]

        overlays = {name: sys.modules.pop(name) for name in of_package()}
        found: Dict[str, types.ModuleType] = {}
        try:
            for part in _PARTS:
                try:
                    importlib.import_module(self.root + part)
                except ModuleNotFoundError as why:
                    if why.name is None or not (self.root + part).startswith(why.name):
                        raise
            found = {name: sys.modules[name] for name in of_package()}
        except Exception as why:  # it may need libraries that are not here
            _log.info("warpwright: the installed %s cannot be imported (%s), so only warpwright's names exist",
                      self.root, why)
        finally:
            for name in of_package():
                if name in overlays or not found:
                    del sys.modules[name]
            sys.modules.update(overlays)
            _set_on_parents(overlays)
        return found


class _Overlay(types.ModuleType):
    """A module of DeepGEMM's name whose names are ours first, then those of the DeepGEMM that is installed, if any."""

    def __init__(self, name: str, part: str, ours: types.ModuleType, package: _Real) -> None:
        super().__init__(name, ours.__doc__)
        self._ours = ours
        self._package = package
        self.__path__: List[str] = package.folders_of(part) or list(getattr(ours, "__path__", []))
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=hasattr(ours, "__path__"))
        self.__spec__.submodule_search_locations = self.__path__ if hasattr(ours, "__path__") else None
        self.__file__ = ours.__file__

    @property
    def _real(self) -> Optional[types.ModuleType]:
        return self._package.module(self.__name__)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") or name == "__version__":
            if hasattr(self._ours, name):
                return getattr(self._ours, name)
            if self._real is not None and hasattr(self._real, name):
                return getattr(self._real, name)
        raise AttributeError(f"module {self.__name__!r} (warpwright) has no attribute {name!r}")

    def __dir__(self) -> List[str]:
        return sorted(set(dir(self._ours)) | set(dir(self._real) if self._real is not None else ()))


def _set_on_parents(modules: Mapping[str, types.ModuleType]) -> None:
    for name, module in modules.items():
        parent, _, leaf = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], leaf, module)


def _install_as(root: str) -> bool:
    """Returns whether there is a DeepGEMM of this name, which keeps its other names."""
    package = _Real(root)
    overlays = {root + part: _Overlay(root + part, part, importlib.import_module(_PACKAGE + part), package)
                for part in _PARTS}
    _installed.update(overlays)
    sys.modules.update(overlays)
    _set_on_parents(overlays)
    return package.exists


def install(vendored: bool = True) -> None:
    """Makes `import deep_gemm` give this library's functions in this process. An installed DeepGEMM keeps the names that
    this library lacks. With `vendored`, vLLM's copy, vllm.third_party.deep_gemm, is replaced too once vllm is imported. May
    be called again; modules that had imported functions by name before keep those."""
    roots = ["deep_gemm"]
    if vendored and "vllm" in sys.modules and _has_module("vllm.third_party"):
        roots.append("vllm.third_party.deep_gemm")
    with _lock:
        for root in roots:
            if root not in _installed:
                _log.warning("warpwright: %s is served by warpwright.compat.deep_gemm%s", root,
                             "; the installed one keeps its other names" if _install_as(root) else "")


def _has_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def uninstall() -> None:
    """Undoes install() for later imports."""
    with _lock:
        for name, overlay in list(_installed.items()):
            real = (overlay._package.modules or {}).get(name)
            if real is not None:
                sys.modules[name] = real
                _set_on_parents({name: real})
            else:
                sys.modules.pop(name, None)
                parent, _, leaf = name.rpartition(".")
                if parent in sys.modules:
                    sys.modules[parent].__dict__.pop(leaf, None)
        _installed.clear()


def install_if_requested() -> None:
    """The entry point of vLLM's and SGLang's plugins: installs if WARPWRIGHT_DEEP_GEMM=1, and otherwise does nothing."""
    if os.environ.get("WARPWRIGHT_DEEP_GEMM") == "1":
        install()
