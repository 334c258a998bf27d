# SPDX-License-Identifier: Apache-2.0
"""Finds the synchronisation in kernel headers and the edits of it that an author might make by mistake.
A statement counts as synchronisation by the calls that it contains: instructions of arch/ that order something, the
functions of pipeline/ that execute one, and short functions elsewhere that do."""
import collections
import re

FOLDERS = ("pipeline", "mainloop", "kernel", "epilogue", "scheduler")
MORE_HEADERS = ("arch/common/block_scan.hpp",)
SHORT = 300  # characters of a function outside pipeline/ that counts as synchronisation if it executes some
MEMORY = r"(?:store|load|mma|product|promote|copy|read|write|multiply|pack|unpack|put|take|replace|add|finish)\w*\s*(?:<[^;()]*>)?\("
INSTRUCTIONS = {  # a regular expression on qualified names: what it is
    r"fence::\w+": "fence",
    r"named_barrier::(?:sync|arrive|sync_cta)": "barrier",
    r"cluster::(?:sync|arrive|arrive_relaxed|wait)": "barrier",
    r"mbarrier::(?:arrive|arrive_if|arrive_remote\w*|expect_tx|arrive_expect_tx)": "arrival",
    r"mbarrier::(?:wait|try_wait)\w*": "wait",
    r"mbarrier::init": "init",
    r"warp::sync": "warp sync",
    r"wgmma::(?:fence|commit|wait|pin|begin)": "wgmma",
    r"tma::(?:commit|wait_read|wait)": "bulk group",
    r"pdl::wait": "launch wait",
    r"tensor_map::(?:acquire|release)": "tensor map",
    r"global::(?:wait_global\w*|load_acquire|store_release|atomic_\w+|reduce_\w+)": "global flag",
    r"shared::(?:atomic_\w+)": "shared atomic",
}
NARROWER = (  # calls: a narrower or weaker one with the same arguments
    (r"fence::acq_rel_gpu\(", "fence::acq_rel_cta("),
    (r"fence::acq_rel_cluster\(", "fence::acq_rel_cta("),
    (r"fence::proxy_async\(", "fence::proxy_async_shared("),
    (r"mbarrier::arrive_remote_release_if\(", "mbarrier::arrive_remote_if("),
    (r"mbarrier::(\w*wait)_cluster\(", r"mbarrier::\1("),
    (r"mbarrier::(\w+)_cluster\(", r"mbarrier::\1("),
    (r"global::atomic_(\w+)_(?:acq_rel|acquire|release)\(", r"global::atomic_\1("),
    (r"global::store_release\(", "global::store("),
    (r"global::load_acquire\(", "global::load("),
    (r"cluster::sync\(", "named_barrier::sync_cta("),
    (r"cluster::arrive\(", "cluster::arrive_relaxed("),
)
COUNTED = (  # calls with an argument that counts: (regular expression, number of the argument, changes)
    (r"mbarrier::init", 1, ("{} + 1", "{} - 1")),
    (r"mbarrier::(?:arrive_expect_tx|expect_tx)", 1, ("{} + 16", "{} - 16")),
    (r"mbarrier::(?:wait|try_wait)\w*", 1, ("{} ^ 1",)),
    (r"named_barrier::(?:sync|arrive)", 0, ("{} + 32", "{} - 32")),
    (r"Ring::initialize", 1, ("{} + 1", "{} - 1")),
    (r"Ring::initialize", 2, ("{} + 1", "{} - 1")),
    (r"producer_acquire|producer_expect", -1, ("{} + 16", "{} - 16")),
)
PENDING = r"(?:wgmma::wait|tma::wait_read|tma::wait)"  # their template argument is what may stay in flight

Edit = collections.namedtuple("Edit", "header line operator kind detail old new start end first last constant")
Statement = collections.namedtuple("Statement", "start end first last")  # characters [start, end), lines
Call = collections.namedtuple("Call", "name kind start arguments end")  # arguments: spans of characters


def blank(text):
    """The text with comments and literals as spaces, of the same length."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#[^\n]*', spaces, text, flags=re.S | re.M)


def closing(code, at):
    """The index of the parenthesis that closes that at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    return len(code) - 1


def functions(code):
    """Yields (name, begin and end of the body) of device functions."""
    for match in re.finditer(r"WW_(?:HOST_)?DEVICE\b[^;{}()]*?(\w+)\s*\(", code):
        end = closing(code, match.end() - 1)
        tail = re.match(r"[\s\w]*(?::[^;{}]*)?\{", code[end + 1:])
        if tail:
            body = end + tail.end()
            yield match.group(1), body, closing(code, body)


def instruction_kind(name):
    return next((kind for pattern, kind in INSTRUCTIONS.items() if re.search(rf"(?:^|::){pattern}$", name)), None)


def calls_one(names, code):
    return re.search("|".join(rf"\b{name}\s*(?:<[^;()]*>)?\(" for name in names), code) if names else None


def synchronising_functions(headers):
    """Names of functions that synchronise, from {header: code}: (those of pipeline/, and those of one header each)."""
    pipelines = {name for header, code in headers.items() if header.startswith("pipeline/")
                 for name, begin, end in functions(code) if calls_one(INSTRUCTIONS, code[begin:end])}
    pipelines |= {name for header, code in headers.items() if header.startswith("pipeline/")
                  for name, begin, end in functions(code) if calls_one(pipelines, code[begin:end])}
    short = {}
    for header, code in headers.items():
        for name, begin, end in functions(code):
            if not header.startswith("pipeline/") and end - begin < SHORT and calls_one(
                    [*INSTRUCTIONS, *pipelines], code[begin:end]):
                short.setdefault(name, set()).add(header)
    return pipelines, {name: next(iter(where)) for name, where in short.items() if len(where) == 1}


class Header:
    def __init__(self, name, text, pipelines, short):
        self.name, self.text, self.code = name, text, blank(text)
        own = {function for function, header in short.items() if header == name}
        self.synchronising = {**dict.fromkeys(own, "function"), **dict.fromkeys(pipelines, "pipeline call")}
        self.lines = [0] + [i + 1 for i, c in enumerate(text) if c == "\n"]
        self.bodies = list(functions(self.code))

    def line_of(self, at):
        low, high = 0, len(self.lines)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.lines[middle] <= at else (low, middle)
        return low + 1

    def function_at(self, at):
        """The name of the innermost function around a character; "" outside of all."""
        around = [(end - begin, name) for name, begin, end in self.bodies if begin <= at < end]
        return min(around)[1] if around else ""

    def statements(self):
        """Lists of statements, each list those that follow one another in a block of a function."""
        code, lists = self.code, [[]]
        start, depth = 0, 0
        for i, c in enumerate(code):
            depth += (c == "(") - (c == ")")
            if depth > 0 or c not in ";{}":
                continue
            if c == ";":
                begin = start + len(code[start:i]) - len(code[start:i].lstrip())
                if begin < i and self.function_at(begin):
                    lists[-1].append(Statement(begin, i + 1, self.line_of(begin), self.line_of(i)))
            else:
                lists.append([])
            start = i + 1
        return [one for one in lists if one]

    def calls(self, begin, end):
        found = []
        pattern = r"(?:\w+(?:::|\.|->))*(?:template )?\w+\s*(?:<[^;()]*?>)?\("
        for match in re.finditer(pattern, self.code[begin:end]):
            name = re.sub(r"<.*|\s|\($|template ", "", match.group()).rstrip("(")
            kind = instruction_kind(name) or self.synchronising.get(re.split(r"::|\.|->", name)[-1])
            if not kind:
                continue
            opening = begin + match.end() - 1
            last = closing(self.code, opening)
            arguments, at, depth = [], opening + 1, 0
            for i in range(opening + 1, last + 1):
                if (self.code[i] == "," and depth == 0) or i == last:
                    if self.code[at:i].strip():
                        arguments.append((at, i))
                    at = i + 1
                depth += (self.code[i] in "([{") - (self.code[i] in ")]}")
            found.append(Call(name, kind, begin + match.start(), arguments, last + 1))
        return found

    def is_whole(self, statement, call):
        """Whether the call is a statement, perhaps behind if or else."""
        before = self.code[statement.start:call.start].strip()
        return self.code[call.end:statement.end].strip() == ";" and (
            before == "" or before.endswith("else") or before.endswith(")") and before.startswith(("if", "else", "for")))

    def edit(self, statement, operator, kind, detail, start, end, new):
        return Edit(self.name, self.line_of(start), operator, kind, f"{self.function_at(start)}(): {detail}", self.text[start:end], new, start, end,
                    statement.first, statement.last, False)

    def edits(self):
        for block in self.statements():
            for i, statement in enumerate(block):
                calls = self.calls(statement.start, statement.end)
                for call in calls:
                    yield from self.drops(statement, call)
                    yield from self.counts(statement, call)
                    yield from self.scopes(statement, call)
                yield from self.resets(statement)
                if i + 1 < len(block):
                    yield from self.swaps(statement, block[i + 1], calls)
        yield from self.arrival_counts()

    def drops(self, statement, call):
        text = " ".join(self.text[call.start:call.end].split())
        if call.kind == "init" or call.name.endswith("initialize"):
            return
        if call.name.endswith("try_wait") or call.name.endswith("try_acquire"):
            new = "true" if "mbarrier" in call.name else "{true}"
            yield self.edit(statement, "trust", call.kind, text, call.start, call.end, new)
        elif self.is_whole(statement, call):
            yield self.edit(statement, "drop", call.kind, text, call.start, call.end, "static_cast<void>(0)")

    def counts(self, statement, call):
        for pattern, number, changes in COUNTED:
            if re.search(rf"(?:^|::|\.|->){pattern}$|^{pattern}$", call.name) and call.arguments:
                if number >= len(call.arguments) or number == -1 and len(call.arguments) > 2:
                    continue
                start, end = call.arguments[max(number, 0)]
                old = self.text[start:end].strip()
                for change in changes:
                    yield self.edit(statement, "count", call.kind, f"{old} -> {change.format(old)}", start, end,
                                    " " * (self.text[start] == " ") + change.format(f"({old})"))
        if re.search(PENDING + "$", call.name):
            match = re.search(r"<([^;()]*)>", self.code[call.start:call.end])
            if match:
                start, end = (call.start + at for at in match.span(1))
                old = self.text[start:end]
                new = f"{old} + 1"  # one less would wait for more than it must, which is correct
                yield self.edit(statement, "count", call.kind, f"{call.name}<{old}> -> <{new}>", start, end, f"({new})")

    def scopes(self, statement, call):
        text = self.text[call.start:call.end]
        for pattern, new in NARROWER:
            if re.search(pattern, text):
                changed = re.sub(pattern, new, text, count=1)
                yield self.edit(statement, "scope", call.kind, f"{' '.join(text.split())} -> {' '.join(changed.split())}",
                                call.start, call.end, changed)
        match = re.fullmatch(r"((?:\w+::)*mbarrier::)arrive_remote_if\((.*)\)", text, flags=re.S)
        if match and len(call.arguments) == 3:  # the barrier of this CTA instead of a peer's
            changed = f"{match.group(1)}arrive_if({self.text[call.arguments[0][0]:call.arguments[1][1]]})"
            yield self.edit(statement, "scope", call.kind, f"{' '.join(text.split())} -> arrive_if", call.start, call.end,
                            changed)

    def resets(self, statement):
        code = self.code[statement.start:statement.end]
        match = re.search(r"((?:arch::)?(?:global|shared)::store\w*)\(.*,\s*(?:0|\{\{0\}\})\s*\);$", code, flags=re.S)
        if not match:
            match = re.search(r"(\bstate_\.advance)\([^;]*\);$", code)
        if match:
            start = statement.start + match.start(1)
            yield self.edit(statement, "reset", "reset", " ".join(self.text[start:statement.end - 1].split()), start,
                            statement.end - 1, "static_cast<void>(0)")

    def swaps(self, one, two, calls):
        both = [[call for call in some if call.kind != "init" and not call.name.endswith("initialize")]
                for some in (calls, self.calls(two.start, two.end))]
        texts = [self.text[s.start:s.end] for s in (one, two)]
        if not any(both) or not all(some or re.search(MEMORY, text) for some, text in zip(both, texts)):
            return
        if any(re.match(r"return|break|continue|else|using|static|template|WW_", text) for text in texts):
            return
        if self.code[two.end:].lstrip().startswith("else") or self.code[one.end:two.start].strip():
            return
        between = self.text[one.end:two.start]
        comment = re.match(r"[ \t]*//[^\n]*", between)
        if comment:
            between = re.sub(r"[^\n]", "", between) or "\n"
        detail = " / ".join(" ".join(text.split()) for text in texts)
        kind = (both[0] or both[1])[0].kind
        detail = f"{self.function_at(one.start)}(): {detail}"
        yield Edit(self.name, one.first, "swap", kind, detail, self.text[one.start:two.end],
                   texts[1] + (between if between.strip() == "" else "\n") + texts[0], one.start, two.end, one.first, two.last,
                   False)

    def arrival_counts(self):
        """Numbers of arrivals that constant functions return."""
        for name, begin, end in functions(self.code):
            match = re.search(r"return\s+([^;]*);", self.code[begin:end])
            if name.endswith("_arrivals") and match:
                start, stop = begin + match.start(1), begin + match.end(1)
                old, line = self.text[start:stop], self.line_of(start)
                for change in (" + 1", " - 1"):
                    yield Edit(self.name, line, "count", "arrival", f"{name}: {old} -> {old}{change}", old,
                               f"({old}){change}", start, stop, line, line, True)


def all_edits(include):
    """Every edit of the headers under include/warpwright, in a fixed order."""
    root = include / "warpwright"
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.hpp"))]
    paths += [root / name for name in MORE_HEADERS]
    texts = {str(path.relative_to(root)): path.read_text() for path in paths}
    pipelines, short = synchronising_functions({name: blank(text) for name, text in texts.items()})
    found, seen, alike = [], set(), collections.Counter()
    for name, text in texts.items():
        for edit in Header(name, text, pipelines, short).edits():
            key = (edit.header, edit.start, edit.end, edit.new)
            if key not in seen and edit.new != edit.old:
                seen.add(key)
                same = (name, edit.operator, edit.detail)
                alike[same] += 1
                found.append(edit if alike[same] == 1 else edit._replace(detail=f"{edit.detail} [{alike[same]}]"))
    return found


def probe(edit):
    """The edit's text as one that stops a thread that gets there; None where there is no such place."""
    if edit.constant:
        return None
    if edit.operator == "swap":
        return edit.old if edit.old.startswith(("if", "else")) else "__builtin_trap(); " + edit.old
    if edit.operator in ("drop", "reset"):
        return "__builtin_trap()"
    return None
