# SPDX-License-Identifier: Apache-2.0
"""The C header is the source: problems, options, names and operands of the package are its fields. A field that is added
to one of them fails here until the others have it."""
import ctypes
import dataclasses
import inspect
import pathlib
import re

import pytest
import warpwright
from warpwright import GemmProblem, GroupedProblem, KGroupedProblem, Options, _native

HEADER = pathlib.Path(__file__).resolve().parents[2] / "include" / "warpwright" / "warpwright.h"
pytestmark = pytest.mark.skipif(not HEADER.is_file(), reason="the tests lie beside no checkout")


def fields_of(struct):
    text = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", HEADER.read_text(), re.DOTALL)[1]
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    declarations = [line.strip() for line in text.split(";") if line.strip()]
    return [re.search(r"(\w+)(?:\[\w+\])?$", name.strip())[1] for line in declarations for name in line.split(",")]


def test_the_parser_of_the_header():
    assert fields_of("ww_options") == ["struct_size", "config", "workspace_limit", "sms", "pdl", "batch_invariant", "reserved"]
    assert {"scalar", "scalar_pointer", "batch_out", "amax"} <= set(fields_of("ww_epilogue_operands"))


TYPES = {"a_type": "a", "b_type": "b", "d_type": "d"}
PROBLEMS = [(GemmProblem, "ww_gemm_problem", {"struct_size", "batched"}),  # batched follows from batch
            (GroupedProblem, "ww_grouped_problem", {"struct_size"}),
            (KGroupedProblem, "ww_k_grouped_problem", {"struct_size"})]


@pytest.mark.parametrize("kind, struct, not_here", PROBLEMS)
def test_problems(kind, struct, not_here):
    here = {field.name: field.default for field in dataclasses.fields(kind)}
    assert set(here) == {TYPES.get(name, name) for name in fields_of(struct)} - not_here
    extents = {name: 128 for name, default in here.items() if default is dataclasses.MISSING}
    for name, default in here.items():  # the extension knows each of them, and its default is one of the choices
        _native.can_implement(kind.operation, {**extents, **({} if name in extents else {name: default})}, {}, None)
    with pytest.raises(TypeError, match="unexpected field"):
        _native.can_implement(kind.operation, {**extents, "colour": 1}, {}, None)


def test_options():
    here = {field.name: field.default for field in dataclasses.fields(Options)}
    assert set(here) == set(fields_of("ww_options")) - {"struct_size", "reserved"}
    for name, default in here.items():
        _native.can_implement("gemm", {"m": 128, "n": 128, "k": 128, "a": "bf16", "b": "bf16", "d": "bf16"}, {name: default},
                              None)


@pytest.mark.parametrize("field, function, first, kind", [
    ("a", "ww_dtype_name", 1, GemmProblem), ("scale", "ww_scale_name", 0, GemmProblem),
    ("scale_type", "ww_scale_type_name", 0, GemmProblem), ("encoding", "ww_encoding_name", 0, GroupedProblem)])
def test_names(field, function, first, kind):
    library = ctypes.CDLL("libwarpwright.so.0")  # the one that the extension has loaded
    name_of = getattr(library, function)
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.c_int32]
    names = []
    while (name := name_of(first + len(names))) is not None:
        names.append(name.decode())
    with pytest.raises(warpwright.InvalidError) as caught:
        _native.can_implement(kind.operation, {field: "none of them"}, {}, None)
    assert caught.value.argument == field and caught.value.expected == ", ".join(names)


SLOTS = {"scalar": ("alpha", "beta", "scalar2", "scalar3"), "row_vector": ("bias", "row1", "row2", "row3"),
         "column_vector": ("col0", "col1", "col2", "col3"), "auxiliary": ("aux0", "aux1", "aux2", "aux3"),
         "out": ("out0", "out1", "out2", "out3")}
COMMON = {"a": "a", "b": "b", "d": "out", "scale_a": "scale_a", "scale_b": "scale_b", "global_scale": "global_scale"}
GROUPS = {"sizes": "offsets", "sizes2": "counts", "status": "status"}
OURS = {"struct_size", "workspace", "workspace_bytes", "epilogue"}  # a call has them without an argument
POINTERS = {"a_pointers": "a", "b_pointers": "b", "d_pointers": "out"}
UNREACHED = {"c_pointers"}  # gemm_pointers() has no epilogue


def test_operands():
    arguments = {name: set(inspect.signature(getattr(warpwright, name)).parameters)
                 for name in ("gemm", "grouped_gemm", "k_grouped_gemm", "gemm_pointers")}
    for struct, function, named in (("ww_gemm_operands", "gemm", {**COMMON, **POINTERS}),
                                    ("ww_grouped_operands", "grouped_gemm", {**COMMON, **GROUPS}),
                                    ("ww_k_grouped_operands", "k_grouped_gemm", {**COMMON, **GROUPS, "c": "c"})):
        assert set(fields_of(struct)) - OURS - UNREACHED == set(named)
        for field, argument in named.items():
            assert argument in arguments["gemm_pointers" if field in POINTERS else function]
    strides = {name for name in fields_of("ww_epilogue_operands") if name.startswith(("batch_", "ld")) or name.endswith(
        ("_row", "_block"))}  # those of the tensors
    rest = set(fields_of("ww_epilogue_operands")) - strides - {"struct_size", "scalars_given", "reserved", "scalar_pointer"}
    assert rest == set(SLOTS) | {"c", "out_scales", "out_scale_chunks", "amax"}  # out_scales= is either
    for names in [*SLOTS.values(), ("c", "out_scales", "amax")]:
        assert set(names) <= arguments["gemm"] & arguments["grouped_gemm"]


def test_plans_take_what_calls_take():
    """Plan.run has the tensors of all operations, and nothing that the plan has decided."""
    run = set(inspect.signature(warpwright.Plan.run).parameters) - {"self"}
    decided = {"scale", "scale_type", "epilogue", "config", "sms", "pdl", "batch_invariant", "workspace_limit", "device",
               "alignment", "zero_outside", "expected_sizes", "accumulate", "packing"}
    calls = set()
    for function in (warpwright.gemm, warpwright.grouped_gemm, warpwright.k_grouped_gemm):
        calls |= set(inspect.signature(function).parameters)
    assert run == calls - decided
