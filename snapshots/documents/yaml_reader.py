"""Parse YAML into raw values with their lines, and report every doubtful construct.

The values are made from libyaml's event stream, because the ready-made loaders resolve ``1.10`` to a
number before a field's type is known, use the last of two equal keys in silence, and break on deep
nesting. The reader decides what YAML leaves open:

- a duplicate key is an error that names both lines, and so is a key that is not a scalar;
- ``<<`` merges one mapping or a list of them, as most site generators do: keys written out win;
- only YAML's own tags (``!!str``, ``!!int``, ``!!map``, …) are read; they turn text into ``Plain`` or back;
- aliases share their anchor's value; the amount they repeat is bounded, and so are nesting and the number of
  values of one document.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml
from yaml._yaml import CParser

from snapshots.documents.document import MAX_DEPTH, ContentDocument, LineTree, Plain, RawValue, decode, item_name
from snapshots.documents.slips import scalar_slip, yaml_slip
from snapshots.documents.yaml_faults import plain_fault
from snapshots.problems import Problems

MAX_REPEATED = 4 * 1024 * 1024
"""Characters that the aliases of a file may repeat in all; each value counts ``_NODE`` besides its text."""
_NODE = 16

MAX_VALUES = 200_000
"""Keys and values of one mapping or list item, nested ones included: a bound on memory."""
_MAX_DIRECTIVES = 100

_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({"!", _TAG + "str"})
_PLAIN_TAGS = frozenset(_TAG + name for name in ("int", "float", "bool", "null", "timestamp"))
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n|---(?=\s))*(?:-\s|\[)")
_NOT_YAML = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
# YAML 1.1 counts these as line ends; editors and git do not.
_OWN_BREAKS = re.compile("[\x85\u2028\u2029]")


class InvalidYaml(ValueError):
    """Reading cannot go on. Holds the fault and its line in the file."""

    def __init__(self, line: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.line, self.kind = line, kind


class Complaint(msgspec.Struct, frozen=True):
    """A fault after which reading goes on: the values around it are checked, but not delivered."""

    line: int
    kind: str
    message: str


class _Frame(msgspec.Struct):
    """A mapping or list whose end has not been met."""

    value: Any
    lines: LineTree
    inside: dict[str | int, LineTree]
    """The children of ``lines``."""
    is_list: bool
    anchor: str | None
    key: str | None = None
    key_line: int = 0
    merges: list[tuple[RawValue, int]] = msgspec.field(default_factory=list)
    weight: int = _NODE
    height: int = 1


class _Anchored(msgspec.Struct, frozen=True):
    value: RawValue
    inside: dict[str | int, LineTree] | None
    weight: int
    height: int


def read_yaml(file: str, data: bytes, problems: Problems) -> Iterator[ContentDocument]:
    """Return the documents of a YAML file: one for a mapping, one an item for a list of mappings."""
    is_list = _LIST.match(data) is not None
    text = decode(file, data, problems, in_version=not is_list)
    if text is None:
        return
    reader = YamlReader(text)
    try:
        for item, value, lines in reader.roots():
            broken = bool(reader.complaints)
            reader.report(file, problems, item_name(item))
            if isinstance(value, dict):
                yield ContentDocument(value, lines.line, None, item, broken, lines)
            elif broken:
                continue
            elif item is None and isinstance(value, Plain) and value in ("", "~", "null"):
                problems.error(
                    file,
                    1,
                    "empty",
                    "the file has no content: write a mapping, a list of them ([] for none), or remove it",
                    in_version=True,
                )
            else:
                slip = scalar_slip(text) if item is None and isinstance(value, Plain) else None
                message = f"expected a mapping (key: value), got {describe(value)}" if slip is None else slip[1]
                problems.error(file, lines.line, "no-mapping", message, in_version=True, item=item_name(item))
    except InvalidYaml as error:
        reader.report_end(file, problems, error, in_version=not is_list)


def describe(value: RawValue) -> str:
    """Return a raw value for a message, shortened."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None or (isinstance(value, Plain) and value in ("", "~", "null")):
        return "nothing"
    text = str(value)
    return repr(text if len(text) <= 60 else text[:57] + "…")


class YamlReader:
    """Reads one YAML document; ``complaints`` holds the faults of the root last returned."""

    def __init__(self, text: str, *, first_line: int = 1) -> None:
        """``text`` begins on line ``first_line`` of its file."""
        self.complaints: list[Complaint] = []
        self._text = text
        self._first = first_line
        self._anchors: dict[str, _Anchored | None] = {}
        self._repeated = 0
        self._values = 0
        self._breaks: list[int] | None = None
        if _OWN_BREAKS.search(text):
            self._breaks = [match.start() for match in re.finditer("\n", text)]

    def root(self) -> tuple[RawValue, LineTree]:
        """Return the whole document as one value. Raises InvalidYaml."""
        ((_, value, lines),) = self._read(split=False)
        return value, lines

    def roots(self) -> Iterator[tuple[int | None, RawValue, LineTree]]:
        """Return (position, value, lines) of each item of a root list as it is read, or of the one root (``None``).

        Raises InvalidYaml where reading cannot go on.
        """
        return self._read(split=True)

    def report(self, file: str, problems: Problems, item: str = "") -> None:
        """Report the complaints, which are about ``item`` of a list, as problems, and forget them."""
        for complaint in self.complaints:
            problems.error(file, complaint.line, complaint.kind, complaint.message, in_version=True, item=item)
        self.complaints.clear()

    def report_end(self, file: str, problems: Problems, error: InvalidYaml, *, in_version: bool) -> None:
        """Report why reading could not go on, or the complaint before it: what follows a first fault may follow from
        it."""
        first = min((*self.complaints, Complaint(error.line, error.kind, str(error))), key=lambda one: one.line)
        problems.error(file, first.line, first.kind, first.message, in_version=in_version)
        self.complaints.clear()

    def _line(self, mark: Any) -> int:
        if self._breaks is None:
            return self._first + int(mark.line)
        return self._first + bisect_left(self._breaks, mark.index)

    def _complain(self, line: int, kind: str, message: str) -> None:
        self.complaints.append(Complaint(line, kind, message))

    def _events(self) -> Iterator[Any]:
        if self._text.startswith("%TAG") + self._text.count("\n%TAG") > _MAX_DIRECTIVES:
            # libyaml compares each directive with all before it.
            raise InvalidYaml(self._first, "syntax", f"more than {_MAX_DIRECTIVES} %TAG directives: remove them")
        try:
            parser = CParser(self._text)  # yaml.parse takes twice the time
            while (event := parser.get_event()) is not None:
                yield event
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = self._first if mark is None else self._line(mark)
            slip = yaml_slip(self._text, error, line - self._first)
            if slip is not None:
                raise InvalidYaml(self._first + slip[0], "syntax", slip[1]) from None
            begun = line if error.context_mark is None else self._line(error.context_mark)
            fault = plain_fault(self._text, error, line - self._first, begun - self._first)
            if fault is not None:
                message = fault[1].replace("{begun}", str(begun))
                raise InvalidYaml(self._first + fault[0], "syntax", message) from None
            problem = error.problem or "not valid YAML"
            message = f"{problem} {error.context}" if error.context else problem
            where = "" if mark is None else f" (column {mark.column + 1})"
            if begun != line:
                where += f", which begins on line {begun}"
            raise InvalidYaml(line, "syntax", f"invalid YAML: {message}{where}") from None
        except yaml.reader.ReaderError:
            found = _NOT_YAML.search(self._text)
            start = found.start() if found else 0
            line = self._first + self._text.count("\n", 0, start)
            column = start - self._text.rfind("\n", 0, start)
            code = ord(self._text[start]) if self._text else 0
            message = f"control character U+{code:04X} at column {column}: YAML does not allow it; remove it"
            raise InvalidYaml(line, "control-character", message) from None

    def _read(self, *, split: bool) -> Iterator[tuple[int | None, RawValue, LineTree]]:
        stack: list[_Frame] = []
        documents = item = 0
        root: tuple[RawValue, LineTree] | None = None
        is_list = False
        for event in self._events():
            kind = type(event)
            anchor: str | None
            self._values += 1
            if self._values > MAX_VALUES:
                line = self._line(event.start_mark)
                message = f"one document holds more than {MAX_VALUES:,} keys and values: divide it"
                raise InvalidYaml(line, "too-large", message)
            if kind is yaml.ScalarEvent:
                line = self._line(event.start_mark)
                text, anchor, height = event.value, event.anchor, 0
                if event.tag is None:  # as nearly always
                    value: RawValue = Plain(text) if event.style == "" else text
                else:
                    value = self._tagged(event, line)
                lines, weight = LineTree(line), _NODE + len(text)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open(stack, event, is_list=kind is yaml.SequenceStartEvent)
                continue
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                frame = stack.pop()
                if frame.merges:
                    self._merge(frame)
                value, lines, weight, height, anchor = (
                    frame.value,
                    frame.lines,
                    frame.weight,
                    frame.height,
                    frame.anchor,
                )
                if split and not stack and frame.is_list:
                    is_list = True
                    continue
            elif kind is yaml.AliasEvent:
                line = self._line(event.start_mark)
                known = self._alias(event.anchor, line, len(stack))
                value, weight, height, anchor = known.value, known.weight, known.height, None
                lines = LineTree(line, known.inside)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    line = self._line(event.start_mark)
                    raise InvalidYaml(
                        line, "documents", "a second YAML document begins here: write one list of mappings instead"
                    )
                continue
            else:
                continue

            if anchor is not None:
                self._anchors[anchor] = _Anchored(value, lines.inside, weight, height)
            if not stack:
                root = value, lines
                continue
            top = stack[-1]
            top.weight += weight
            top.height = max(top.height, height + 1)
            if not top.is_list:
                self._put(top, value, lines)
            elif split and len(stack) == 1:
                yield item, value, lines
                item += 1
                self._values = 0
            else:
                top.inside[len(top.value)] = lines
                top.value.append(value)
        # Now that the whole text has proved valid, its root is returned.
        if not is_list:
            value, lines = root if root is not None else (Plain(""), LineTree(self._first))
            yield None, value, lines

    def _tagged(self, event: Any, line: int) -> RawValue:
        tag, text = event.tag, str(event.value)
        if tag in _TEXT_TAGS:
            return text
        if tag not in _PLAIN_TAGS:
            shown = tag.replace(_TAG, "!!")
            message = f"the tag {shown} is not supported: remove it, or put a text that begins with ! in quotes"
            self._complain(line, "custom-tag", message)
        return Plain(text)

    def _open(self, stack: list[_Frame], event: Any, *, is_list: bool) -> None:
        line = self._line(event.start_mark)
        if len(stack) >= MAX_DEPTH:
            raise _too_deep(line)
        if event.tag not in (None, "!", _TAG + ("seq" if is_list else "map")):
            self._complain(line, "custom-tag", f"the tag {event.tag.replace(_TAG, '!!')} is not supported: remove it")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        inside: dict[str | int, LineTree] = {}
        stack.append(_Frame([] if is_list else {}, LineTree(line, inside), inside, is_list, event.anchor))

    def _alias(self, name: str, line: int, depth: int) -> _Anchored:
        if name not in self._anchors:
            raise InvalidYaml(
                line, "syntax", f"the alias *{name} has no anchor &{name} before it: quote a value that begins with *"
            )
        known = self._anchors[name]
        if known is None:
            raise InvalidYaml(line, "alias-bomb", f"the alias *{name} is inside the value that it refers to")
        if depth + known.height > MAX_DEPTH:
            raise _too_deep(line)
        self._repeated += known.weight
        if self._repeated > MAX_REPEATED:
            raise InvalidYaml(
                line,
                "alias-bomb",
                f"the aliases up to *{name} repeat more than {MAX_REPEATED:,} characters: write the values out",
            )
        return known

    def _put(self, frame: _Frame, value: RawValue, lines: LineTree) -> None:
        """Add a mapping's next key, or the value of the key before."""
        if frame.key is None:
            frame.key_line = lines.line
            if isinstance(value, (dict, list)):
                hint = ", as every value that begins with {{" if isinstance(value, dict) else ""
                self._complain(
                    lines.line, "key", f"a key must be a text, but this one is {describe(value)}: quote it{hint}"
                )
                value = ""
            elif isinstance(value, Plain) and value == "<<":
                frame.key = value
                return
            frame.key = str(value)
            return
        key, line = frame.key, frame.key_line
        frame.key = None
        if isinstance(key, Plain):
            frame.merges.append((value, line))
            return
        before = frame.inside.get(key)
        if before is not None:
            self._complain(line, "duplicate-key", f"the key {key!r} appears twice: first on line {before.line}")
            return
        frame.value[key] = value
        frame.inside[key] = LineTree(line, lines.inside)

    def _merge(self, frame: _Frame) -> None:
        for merged, line in frame.merges:
            for mapping in merged if isinstance(merged, list) else (merged,):
                if not isinstance(mapping, dict):
                    self._complain(line, "merge", f"<< takes a mapping or a list of them, not {describe(mapping)}")
                    continue
                for key, value in mapping.items():
                    if key not in frame.value:
                        frame.value[key] = value
                        frame.inside[key] = LineTree(line)


def _too_deep(line: int) -> InvalidYaml:
    return InvalidYaml(line, "too-deep", f"mappings and lists are nested more than {MAX_DEPTH} deep")
