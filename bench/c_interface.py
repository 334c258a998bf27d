# SPDX-License-Identifier: Apache-2.0
"""The C interface by ctypes: structures and numbers are read from the headers, so that none is written twice. For
benchmarks and tests; the package `warpwright` is what programs use."""
import ctypes
import json
import pathlib
import re
from typing import Any, Dict, List

HEADERS = [pathlib.Path(__file__).resolve().parents[1] / "include" / "warpwright" / name
           for name in ("warpwright.h", "quantize.h")]
C_TYPES = {"size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32,
           "uint64_t": ctypes.c_uint64, "uint8_t": ctypes.c_uint8, "float": ctypes.c_float, "double": ctypes.c_double,
           "char": ctypes.c_char}


class Header:
    """`numbers` of enumerators and `structs` by their names in C."""

    def __init__(self) -> None:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", "".join(path.read_text() for path in HEADERS), flags=re.S)
        self.numbers: Dict[str, int] = {name: int(value) for name, value in re.findall(r"\b(WW_\w+) = (\d+)", text)}
        self.numbers.update({name: int(value) for name, value in re.findall(r"#define (WW_\w+) (\d+)\n", text)})
        self.types: Dict[str, Any] = dict(C_TYPES)
        self.types.update({name: ctypes.c_int32 for name in re.findall(r"typedef int32_t (\w+);", text)})
        self.types.update({name: ctypes.c_void_p for name in re.findall(r"typedef struct \w+\* (\w+);", text)})
        self.structs: Dict[str, Any] = {}
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.S):
            fields = [field for line in body.split(";") if line.strip() for field in self._fields(line)]
            self.structs[name] = self.types[name] = type(name, (ctypes.Structure,), {"_fields_": fields})

    def _fields(self, line: str) -> List[Any]:
        """Name and type of every field that one declaration makes."""
        callback = re.search(r"\(\*(\w+)\)", line)
        if callback:
            return [(callback.group(1), ctypes.c_void_p)]
        kind, names = line.replace("const ", "").split(None, 1)
        fields = []
        for name in names.split(","):
            one = self.types.get(kind.rstrip("*"))
            if "*" in name or "*" in kind:
                one = ctypes.c_char_p if kind.startswith("char") else ctypes.c_void_p
            count = re.search(r"\[(\w+)\]", name)
            if count:
                one = one * (self.numbers[count.group(1)] if count.group(1) in self.numbers else int(count.group(1)))
            fields.append((re.sub(r"\[.*|[*\s]|const", "", name), one))
        return fields

    def make(self, name: str, **values: Any) -> Any:
        """A structure with its size; enumerators may be given by name."""
        made = self.structs[name]()
        made.struct_size = ctypes.sizeof(made)
        for field, value in values.items():
            setattr(made, field, self.numbers[value] if isinstance(value, str) else value)
        return made


class Interface:
    """The functions of the library. A failure is a RuntimeError with the library's message."""

    def __init__(self, path: str) -> None:
        self.header = Header()
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        for name in ("error_message", "error_argument", "error_expected", "error_actual", "report_text", "version",
                     "source_hash"):
            getattr(self.library, "ww_" + name).restype = ctypes.c_char_p

    def text(self, name: str) -> str:
        """What a function without arguments returns."""
        return str(getattr(self.library, "ww_" + name)().decode())

    def call(self, name: str, *arguments: Any) -> None:
        """Structures are passed by address. Handles and sizes must be ctypes values, as an int would be 32 bits."""
        given = [ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments]
        status = getattr(self.library, "ww_" + name)(*given)
        if status != 0:
            raise RuntimeError(f"ww_{name}: status {status}: {self.text('error_message')}")

    def report(self, name: str, *arguments: Any) -> Any:
        """The JSON report that a function stores through its last argument."""
        report = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(report))
        text = self.library.ww_report_text(report, None)
        self.call("report_free", report)
        return json.loads(text)

    def open(self, device: str) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call("device_open", device.encode(), None, ctypes.byref(handle))
        return handle
