# SPDX-License-Identifier: Apache-2.0
"""Sphinx for the Python package. Docstrings are plain text: their indented lines and tables keep their form, `names` are
code, and calls such as gemm() become links. A public name without a docstring, a parameter that no docstring names, and
a call of a name that does not exist are warnings, which tools/reference/build.py treats as errors."""
import importlib
import importlib.util
import inspect
import os
import re
import types

from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging

project = "Warpwright"
copyright = "the authors of Warpwright"
version = release = os.environ.get("WARPWRIGHT_VERSION", "")
extensions = ["sphinx.ext.autodoc"]
html_theme = "alabaster"
html_theme_options = {"description": "The Python package", "page_width": "1200px"}
html_copy_source = False
html_show_sphinx = False
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!warpwright).*")]  # names of other packages, in signatures
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "imported-members": True, "undoc-members": True}
# torch is gigabytes; its module here needs only its name to be documented.
autodoc_mock_imports = [name for name in ("torch", "jax") if importlib.util.find_spec(name) is None]

MODULES = ["warpwright", "warpwright.torch", "warpwright.jax", "warpwright.compat", "warpwright.compat.deep_gemm"]
CALL = re.compile(r"(?<![\w.`])((?:\w+\.)*\w+)\(\)")
ROW = re.compile(r"\S {3,}\S")  # a table's row
log = logging.getLogger(__name__)


def find(name, module):
    """The full name of what a docstring of `module` calls `name`, or ""."""
    for place in (module, *MODULES):
        with mock(autodoc_mock_imports):
            at = importlib.import_module(place)
        inside = name[len(place) + 1:] if name.startswith(place + ".") else name
        try:
            for part in inside.split("."):
                at = getattr(at, part)
        except AttributeError:
            continue
        return f"{place}.{inside}"
    return ""


def linked(line, place, module):
    """A line of prose as reStructuredText."""

    def link(match):
        name = match.group(1)
        full = find(name, module) or (find(place.split(".")[-2] + "." + name, module) if "." in place else "")
        if full:
            return f":py:obj:`{name}() <{full}>`"
        if hasattr(__builtins__, name) or "." in name or name in __builtins__:
            return match.group(0)
        log.warning("%s: the docstring calls %s(), which does not exist", place, name)
        return match.group(0)

    parts = re.split(r"(`[^`]*`)", line)
    return "".join(f"`{part}`" if part.startswith("`") else CALL.sub(link, re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", part))
                   for part in parts)


def names_of_parameters(target):
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return []
    return [name for name, one in signature.parameters.items() if name != "self" and one.kind is not one.VAR_KEYWORD]


def text_with_references(doc, module, seen=frozenset()):
    """A docstring and those of the functions that it calls, which may describe its parameters."""
    texts = [doc]
    for name in set(CALL.findall(doc)) - seen:
        place, _, last = find(name, module).rpartition(".")
        if place in MODULES:
            other = inspect.getdoc(getattr(importlib.import_module(place), last)) or ""
            texts.append(text_with_references(other, place, seen | {name}))
    return "\n".join(texts)


def process(app, what, name, target, options, lines):
    module = next(place for place in sorted(MODULES, key=len, reverse=True) if name.startswith(place))
    doc = "\n".join(lines).strip()
    if not doc:
        log.warning("%s has no docstring", name)
        return
    exception = what == "class" and issubclass(target, Exception)
    # The parameters of compat.deep_gemm are DeepGEMM's, and documented there.
    if what in ("function", "method", "class") and not exception and module != "warpwright.compat.deep_gemm":
        known = text_with_references(doc, module)
        for parameter in names_of_parameters(target):
            if not re.search(rf"(?<!\w){parameter}(?!\w)", known):
                log.warning("%s: the docstring does not name the parameter %s", name, parameter)
    out, literal = [], False
    for line in doc.split("\n"):
        formed = bool(line.strip()) and (line.startswith("  ") or bool(ROW.search(line)))
        if not line.strip():
            out.append("")
            continue
        if formed and not literal:
            out += ["", ".. code-block:: none", ""]
        if literal and not formed:
            out.append("")
        out.append("   " + line if formed else linked(line, name, module))
        literal = formed
    lines[:] = [*out, ""]


def skip(app, what, name, target, skipped, options):
    """Leaves out what a module imports from elsewhere, and fields, which the docstring of their class describes."""
    if what == "module":
        return True if not str(getattr(target, "__module__", "")).startswith("warpwright") else None
    field = not callable(getattr(target, "__func__", target)) and not inspect.isdatadescriptor(target)
    return True if field or isinstance(target, types.MemberDescriptorType) or name == "extra_repr" else None


def setup(app):
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", process)
