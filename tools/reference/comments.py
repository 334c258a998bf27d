#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's input filter: writes a public header to stdout with this project's comments as Doxygen's.

A comment in front of declarations documents all that follow it up to a blank line or the next comment; one behind a
declaration, on its line, documents that one. A member without either is documented by its structure's comment if that
names it, else by its type if that is one of this library; Doxygen refuses types that are not documented themselves. The
comment at the head of a file documents the file. Declarations of several names become one for each. A list macro,
`#define LIST(X) X(name, "text") ...`, is expanded where it is applied, so that each of its names has its text. Bodies
of functions, defaulted comparisons and names_of(), which the parsers of texts use, are dropped.
"""
import pathlib
import re
import sys
from typing import Dict, List, NamedTuple, Optional, Tuple

DROPPED = re.compile(r"operator==.*= default;|\bEnumNames names_of\(|using storage_t\b|^friend ")
OWN_TYPE = re.compile(r"(?:const )?(?:std::(?:optional|vector|span)<)?(?:const )?([A-Z]\w*[a-z]\w*|ww_\w+)>?[ *]+\w+")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|.', re.S)
ITEM = re.compile(r'X\((\w+),\s*"([^"]*)"\)')


class Macro(NamedTuple):
    parameter: str
    body: str


def plain(comment: str) -> List[str]:
    """The lines of a comment's text, without its marks."""
    if comment.startswith("//"):
        return [re.sub(r"^///?<? ?", "", comment).rstrip()]
    body = re.sub(r"^/\*+<? ?|\s*\*/$", "", comment)
    return [re.sub(r"^\s*\* ?", "", line).rstrip() if i else line.rstrip() for i, line in enumerate(body.split("\n"))]


def as_doxygen(lines: List[str]) -> str:
    """Lines that are indented by two blanks or more are formulas and tables: they keep their form."""
    text, formula = [], False
    for line in lines:
        indented = line.startswith("  ")
        if indented != formula:
            text.append("@verbatim" if indented else "@endverbatim")
            formula = indented
        text.append(line)
    if formula:
        text.append("@endverbatim")
    return "".join(f"/// {line}\n" for line in text)


def statement_names(statement: str) -> List[str]:
    """A declaration of several variables as one for each."""
    if "(" in statement.split("=")[0] or not statement.endswith(";"):
        return [statement]
    parts, depth, start = [], 0, 0
    for i, c in enumerate(statement):
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            parts.append(statement[start:i])
            start = i + 1
    parts.append(statement[start:-1])
    if len(parts) == 1 or statement.startswith(("using ", "typedef ", "template")):
        return [statement]
    head = re.match(r"(.*?[\s*&])[*&]*\w+(\[[^\]]*\])?\s*(=.*|\{.*)?$", parts[0].strip(), re.S)
    if not head:
        return [statement]
    kind = head.group(1)
    return [parts[0].strip() + ";", *(f"{kind}{part.strip()};" for part in parts[1:])]


class Filter:
    def __init__(self, text: str, macros: Dict[str, Macro], lists: Dict[str, List[Tuple[str, str]]]) -> None:
        self.tokens = TOKEN.findall(text)
        self.at = 0
        self.out: List[str] = []
        self.records: List[Optional[str]] = [None]  # the comments of the structures that enclose this place
        self.macros, self.lists = macros, lists

    def emit(self, statement: str, docs: Optional[List[str]]) -> None:
        if DROPPED.search(statement):
            return
        for one in statement_names(statement):
            text = docs or self.implied(one)
            self.out.append((as_doxygen(text) if text else "") + one + "\n")

    def implied(self, statement: str) -> Optional[List[str]]:
        """What documents a declaration without a comment of its own."""
        if "name_of(" in statement:
            return ["Returns the name that texts, flags and reports use."]
        name, comment = re.match(r"[^=({]*?(\w+)(?:\[[^\]]*\])*\s*[;={,]", statement), self.records[-1]
        if comment is None or not name:
            return None
        if name.group(1) == "struct_size":
            return ["The size of this structure, `sizeof`."]
        own = name.group(1)
        if statement.endswith(","):
            implied = "Chosen to suit the rest." if own == "automatic" else \
                "See the description of the enumeration." if comment.endswith("| one line") else ""
            return [implied] if implied else None
        if re.search(rf"(?<!\w){own}(?!\w)", comment) or len(own) == 1 and re.search(rf"\b{own.upper()}\b", comment):
            return ["See the description of the structure."]
        kind = OWN_TYPE.match(statement)
        return [f"See @ref {kind.group(1)}."] if kind else None

    def peek_trailing(self) -> Optional[List[str]]:
        """The comment on the rest of this line, with the lines that continue it."""
        at = self.at
        while at < len(self.tokens) and self.tokens[at] in (" ", ",", ";", "\\"):
            at += 1
        if at == len(self.tokens) or not self.tokens[at].startswith(("//", "/*")):
            return None
        column = self.column(at)
        lines = plain(self.tokens[at])
        at += 1
        while self.tokens[at - 1].startswith("//"):
            ahead = at
            while ahead < len(self.tokens) and self.tokens[ahead] in (" ", "\n"):
                ahead += 1
            if ahead == len(self.tokens) or self.tokens[at:ahead].count("\n") != 1 or \
               not self.tokens[ahead].startswith("//") or self.column(ahead) != column:
                break
            lines += plain(self.tokens[ahead])
            at = ahead + 1
        self.at = at
        return lines

    def column(self, at: int) -> int:
        column = 0
        while at > 0 and self.tokens[at - 1] != "\n" and "\n" not in self.tokens[at - 1]:
            at -= 1
            column += len(self.tokens[at])
        return column

    def skip_braces(self) -> None:
        depth = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return

    def skip_to_close(self) -> None:
        """To the brace that closes this structure: what follows `private:` is of nobody else's concern."""
        while self.tokens[self.at] != "}":
            if self.tokens[self.at] == "{":
                self.skip_braces()
            else:
                self.at += 1

    def own_comment(self) -> List[str]:
        """A comment with lines of its own."""
        lines = plain(self.tokens[self.at])
        self.at += 1
        while self.tokens[self.at - 1].startswith("//"):
            ahead = self.at
            while ahead < len(self.tokens) and self.tokens[ahead] in (" ", "\n"):
                ahead += 1
            if self.tokens[self.at:ahead].count("\n") != 1 or ahead == len(self.tokens) or \
               not self.tokens[ahead].startswith("//"):
                break
            lines += plain(self.tokens[ahead])
            self.at = ahead + 1
        return [line for line in lines if not line.startswith(("clang-format", "NOLINT"))]

    def directive(self) -> None:
        line = ""
        while self.at < len(self.tokens) and not (self.tokens[self.at] == "\n" and not line.endswith("\\")):
            line += self.tokens[self.at] if not self.tokens[self.at].startswith("/*") else ""
            self.at += 1
        found = re.match(r"#\s*define\s+(\w+)\(name, \w+\)\s*(.*)", line.replace("\\\n", " "), re.S)
        if found:
            self.macros[found.group(1)] = Macro("name", found.group(2).strip())
        found = re.match(r"#\s*define\s+(\w+)\(X\)", line)
        if found:
            self.lists[found.group(1)] = ITEM.findall(line)
        elif not re.match(r"#\s*(define\s+WW_(TRY_IMPL|CONCAT\w*|EPILOGUE_(OP|FUNCTION))\b|undef)", line):
            self.out.append(line.replace("\\\n", " ") + "\n")

    def expand(self, statement: str) -> bool:
        call = re.fullmatch(r"(\w+)\((\w+)\)", statement)
        if not call or call.group(1) not in self.lists:
            return False
        macro = self.macros[call.group(2)]
        for name, text in self.lists[call.group(1)]:
            self.emit(re.sub(r"\bname\b", name, macro.body), [f"Computes `{text}`."])
        return True

    def run(self) -> str:
        docs: Optional[List[str]] = None
        head = True
        kinds: List[str] = ["namespace"]
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == "\n":
                self.at += 1
                if "".join(self.tokens[self.at:self.at + 40]).lstrip(" ").startswith("\n"):
                    docs = None
            elif token in " ;,":
                self.at += 1
            elif token == "#":
                head = False
                start = self.at
                self.directive()
                if docs and re.match(r"#\s*define", "".join(self.tokens[start:self.at])) and self.out:
                    line = self.out.pop()
                    self.out.append(as_doxygen(docs) + line if line.startswith("#define") else line)
            elif token.startswith(("//", "/*")):
                lines = self.own_comment()
                if head:
                    lines = lines[1:] if lines[0].startswith("SPDX") else lines
                    self.out += ["/// @file\n" + as_doxygen(lines) + "\n"] if lines else []
                elif lines and not lines[0].startswith("---- "):
                    docs = lines
            elif token == "}":
                self.close(kinds)
                docs = None
            else:
                docs = self.declaration(kinds, docs)
        return "".join(self.out)

    def close(self, kinds: List[str]) -> None:
        text = ""
        self.at += 1
        kind = kinds.pop()
        self.records.pop()
        while kind != "namespace" and self.tokens[self.at] != ";":
            text += self.tokens[self.at]
            self.at += 1
        self.out.append("}" + text + (";" if kind != "namespace" else "") + "\n")

    def declaration(self, kinds: List[str], docs: Optional[List[str]]) -> Optional[List[str]]:
        """Reads one declaration; returns the comment that the next one inherits."""
        text, depth, trailing = "", 0, None
        ends = ",}" if kinds[-1] == "enum" else ""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.startswith(("//", "/*")):
                trailing = self.peek_trailing() if trailing is None else trailing
                continue
            if depth == 0 and (token == ";" or token in ends):
                break
            if depth == 0 and token == ":" and re.fullmatch(r"public|private|protected", text.strip()):
                self.at += 1
                if text.strip() == "public":
                    self.out.append("public:\n")
                else:
                    self.skip_to_close()
                return None
            if token == "{" and depth == 0:
                opened = self.open(text, kinds, docs)
                if opened == "body":
                    self.skip_braces()
                    text = text.rstrip() + ";"
                    if ") :" in text:
                        text = text[:text.index(") :") + 1] + ";"
                    self.emit(" ".join(text.split()), self.peek_trailing() or docs)
                    return docs
                if opened:
                    return None
            depth += (token in "({[") - (token in ")}]")
            text += token
            self.at += 1
            if depth == 0 and token == ")" and self.expand(text.strip()):
                return None
        if self.at < len(self.tokens) and self.tokens[self.at] in ";,":
            self.at += 1
        end = "," if kinds[-1] == "enum" else ";"
        found = self.peek_trailing()
        trailing = found if found is not None else trailing
        if text.strip():
            self.emit(" ".join(text.split()) + end, trailing if trailing is not None else docs)
        return None if trailing is not None else docs

    def open(self, text: str, kinds: List[str], docs: Optional[List[str]]) -> str:
        """What the brace after `text` opens: a namespace, a record (entered here), a "body", or "" for a value."""
        head = " ".join(text.split())
        record = re.match(r"(?:typedef |template <[^>]*> )*(struct|class|union|enum)\b", head)
        if head.startswith(("namespace", 'extern "C"')):
            kinds.append("namespace")
            self.records.append(None)
            self.out.append(head + " {\n")
        elif record and "(" not in head and "=" not in head:
            end = self.matching(self.at)
            after = "".join(self.tokens[end + 1:end + 400]).split("\n")[0]
            trailing = re.search(r"//\s*(.*)", after)
            one_line = "\n" not in self.tokens[self.at:end]
            if one_line and trailing and docs is None:
                docs = [trailing.group(1)]
            self.out.append((as_doxygen(docs) if docs else "") + head + " {\n")
            kinds.append("enum" if record.group(1) == "enum" else "record")
            self.records.append(" ".join(docs or []) + (" | one line" if one_line else ""))
        elif "(" in head and not head.endswith(("=", ",", "(", "return")):
            return "body" if not re.search(r"\) : [^{]*\w$", head) else self.initialiser()
        else:
            return ""
        self.at += 1
        return "record"

    def initialiser(self) -> str:
        self.skip_braces()
        while self.tokens[self.at] in " \n":
            self.at += 1
        return "body"

    def matching(self, at: int) -> int:
        depth = 0
        while True:
            depth += (self.tokens[at] == "{") - (self.tokens[at] == "}")
            if depth == 0:
                return at
            at += 1


def main() -> int:
    path = pathlib.Path(sys.argv[1])
    macros: Dict[str, Macro] = {}
    lists: Dict[str, List[Tuple[str, str]]] = {}
    nodes = path.parent.parent / "config" / "epilogue_nodes.hpp"
    if nodes.is_file() and path != nodes:
        Filter(nodes.read_text(), macros, lists).run()
    sys.stdout.write(Filter(path.read_text(), macros, lists).run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
