# SPDX-License-Identifier: Apache-2.0
"""What Doxygen 1.9 does not ask of its own XML: enumerators have descriptions, parameters are named by the description
of their function or have a type that is described, and names in descriptions exist."""
import pathlib
import re
import xml.etree.ElementTree as tree
from typing import Iterator, Set

# `Name::member`, call(), ww_name, WW_NAME: what a description refers to.
REFERENCE = re.compile(r"(?<![\w:])((?:\w+::)*\w+)\(\)|(?<![\w:])((?:[A-Za-z]\w*::)+\w+)|\b(WW_\w+|ww_\w+)(?![\w*])")
FOREIGN = re.compile(r"WW_KERNEL$|WW_MODULE$|WW_EPILOGUE_|std::|tl::|sizeof|emu::|WARPWRIGHT_")


def text_of(member: tree.Element) -> str:
    return " ".join(" ".join(part.itertext()) for kind in ("briefdescription", "detaileddescription")
                    for part in member.findall(kind))


def described_names(root: tree.Element) -> Iterator[str]:
    for element in root.iter():
        if element.tag in ("compoundname", "name", "declname", "defname"):
            yield (element.text or "").split("::")[-1]


def parameters(member: tree.Element, place: str) -> Iterator[str]:
    text = text_of(member)
    for parameter in member.findall("param"):
        name = parameter.findtext("declname") or parameter.findtext("defname") or ""
        kind = parameter.find("type")
        has_described_type = kind is not None and kind.find("ref") is not None
        if name and not has_described_type and not re.search(rf"(?<!\w){name}(?!\w)", text):
            yield f"{place}: parameter {name} is not named by the description, and its type is none of this library"


def findings(folder: pathlib.Path) -> Set[str]:
    roots = [tree.parse(path).getroot() for path in sorted(folder.glob("*.xml")) if path.name != "index.xml"]
    known = {name for root in roots for name in described_names(root)}
    found: Set[str] = set()
    for member in (member for root in roots for member in root.iter("memberdef")):
        place = member.findtext("qualifiedname") or member.findtext("name") or ""
        if member.get("kind") == "enum":
            found.update(f"{place}::{value.findtext('name')}: enumerator without a description"
                         for value in member.findall("enumvalue") if not text_of(value).strip())
        if member.get("kind") in ("function", "define"):
            found.update(parameters(member, place))
    for root in roots:
        for element in (element for element in root.iter() if element.tag in ("compounddef", "memberdef", "enumvalue")):
            place = element.findtext("qualifiedname") or element.findtext("compoundname") or element.findtext("name")
            for match in REFERENCE.finditer(text_of(element)):
                name = next(group for group in match.groups() if group)
                wild = name.endswith("_") and any(one.startswith(name) for one in known)
                if name.split("::")[-1] not in known and not FOREIGN.match(name) and not wild:
                    found.add(f"{place}: the description names {name}, which does not exist")
    return found
