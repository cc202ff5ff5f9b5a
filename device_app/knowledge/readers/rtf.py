"""Reads Rich Text Format (Microsoft's specification 1.9.1), in one pass over the bytes.

No library is used: striprtf drops headings and titles, and its regular expressions take quadratic time for hostile
files.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from device_app.knowledge.readers.dates import date_in, sane
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.sections import Line, opening_heading, sections
from shared.errors import UnreadableFile
from shared.types import Document

_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,9})?[ ]?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z'])|([{}])|([^\\{}\r\n]+)|[\r\n]+|.", re.DOTALL
)
_DEEPEST = 1_000
_HEADING = re.compile(r"heading ([1-9]);", re.IGNORECASE)
"""Matches the name of a heading style, for styles without a level."""
_WORDS = {
    "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "emspace": " ", "enspace": " ", "qmspace": " ", "tab": " ", "line": " ", "cell": " | ", "nestcell": " | ",
}  # fmt: skip
_SYMBOLS = {b"~": " ", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\"}
_ENDS = {"par", "sect", "page", "row", "nestrow"}
_SILENT = {
    *(
        "annotation",
        "atnauthor",
        "atnid",
        "colortbl",
        "datastore",
        "filetbl",
        "fldinst",
        "footer",
        "footerf",
        "footerl",
    ),
    *(
        "footerr",
        "generator",
        "header",
        "headerf",
        "headerl",
        "headerr",
        "listtable",
        "listoverridetable",
        "nonshppict",
    ),
    *("object", "pict", "revtbl", "rsidtbl", "themedata", "xe", "tc", "pntext", "nonesttables"),
}
"""The control words of groups without the author's text: headers and footers, pictures, data for programs."""
_APART = {"fonttbl", "stylesheet", "info"}
_FACTS = {"title", "author", "creatim", "revtim"}
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250",
}  # fmt: skip
"""The encodings of the charset numbers that fonts have."""


def read_rtf(path: Path, max_bytes: int) -> Iterator[Document]:
    """Yield one document or, for a long text, one per section. Raises UnreadableFile."""
    data = read_whole(path, max_bytes)
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableFile("broken RTF file")
    text = _Text()
    text.read(data)
    title, author = (" ".join(text.facts.get(name, "").split()) for name in ("title", "author"))
    shown = title or opening_heading(text.lines) or path.stem
    date = date_in(path.stem) or text.dates.get("revtim") or text.dates.get("creatim")
    yield from sections(Document("", "paper", shown, (), date, (author,) if author else ()), text.lines)


@dataclass(frozen=True, slots=True)
class _Group:
    """The settings that apply within a pair of braces.

    The text goes `into` the document (""), a property such as the title, or nowhere (any other name). `charset` is ""
    for that of the file; `level` is that of a heading, 0 for other text.
    """

    into: str = ""
    charset: str = ""
    level: int = 0
    stand_ins: int = 1
    """The number of characters after a Unicode character that stand in for it in old programs, and are skipped."""


@dataclass(slots=True)
class _Text:
    """The text and facts of a file, collected token by token."""

    lines: list[Line] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    dates: dict[str, datetime] = field(default_factory=dict)
    _charset: str = "cp1252"
    _charset_of_font: dict[int, str] = field(default_factory=dict)
    _level_of_style: dict[int, int] = field(default_factory=dict)
    _group: _Group = field(default_factory=_Group)
    _above: list[_Group] = field(default_factory=list)
    _named: int = 0
    """The number of the font or style that is being defined."""
    _line: list[str] = field(default_factory=list)
    _bytes: bytearray = field(default_factory=bytearray)
    _moment: dict[str, int] = field(default_factory=dict)
    _skip: int = 0
    _in_table: bool = False
    _is_optional: bool = False
    """Whether the next control word, if it is unknown, begins a group to skip."""

    def read(self, data: bytes) -> None:
        """Read the file up to its closing brace. Raises UnreadableFile."""
        position = 0
        while match := _TOKEN.match(data, position):
            position = match.end()
            word, number, code, symbol, brace, text = match.groups()
            if word == b"bin":
                position += max(int(number or 0), 0)
            elif word:
                self._word(word.decode(), None if number is None else int(number))
            elif symbol == b"*":
                self._is_optional = True
            elif symbol:
                self._say(_SYMBOLS.get(symbol, ""))
            elif brace == b"{":
                self._open()
            elif brace and not self._close():
                break
            elif code or text:
                self._hold(bytes.fromhex(code.decode()) if code else text)
        self._end_line()

    def _open(self) -> None:
        self._decode()
        if len(self._above) >= _DEEPEST:
            raise UnreadableFile("broken RTF file")
        self._above.append(self._group)

    def _close(self) -> bool:
        """Close the group, and return whether another group is open."""
        self._decode()
        if self._group.into in ("creatim", "revtim"):
            year, month, day, hour, minute = (self._moment.get(name, 0) for name in ("yr", "mo", "dy", "hr", "min"))
            with suppress(ValueError):
                if date := sane(datetime(year, month, day, hour, minute)):
                    self.dates[self._group.into] = date
            self._moment.clear()
        self._group = self._above.pop() if self._above else self._group
        return bool(self._above)

    def _word(self, word: str, number: int | None) -> None:
        optional, self._is_optional = self._is_optional, False
        into = self._group.into
        self._decode()
        self._skip = 0
        if word in _SILENT or word in _APART:
            self._group = replace(self._group, into=word)
        elif optional and word != "footnote" and not into:
            self._group = replace(self._group, into="optional")
        elif into == "info" and word in _FACTS:
            self._group = replace(self._group, into=word)
        elif into in ("creatim", "revtim"):
            self._moment[word] = number or 0
        elif into in ("fonttbl", "stylesheet"):
            self._describe(into, word, number or 0)
        elif word == "u" and number is not None:
            self._say(chr(number % 0x10000))
            self._skip = self._group.stand_ins
        elif word in _ENDS and not into:
            if self._in_table and word == "par":
                self._line.append(" ")
            else:
                self._end_line()
        elif word in _WORDS:
            self._say(_WORDS[word])
        else:
            self._format(word, number)

    def _describe(self, table: str, word: str, number: int) -> None:
        if word == ("f" if table == "fonttbl" else "s"):
            self._named = number
        elif table == "fonttbl" and word == "fcharset" and number in _CHARSETS:
            self._charset_of_font[self._named] = _CHARSETS[number]
        elif table == "stylesheet" and word == "outlinelevel" and number < 9:
            self._level_of_style[self._named] = number + 1

    def _format(self, word: str, number: int | None) -> None:
        group = self._group
        if word == "pard":
            self._group, self._in_table = replace(group, level=0), False
        elif word == "intbl":
            self._in_table = True
        elif word == "ansicpg" and number is not None:
            self._charset = _known(f"cp{number}") or self._charset
        elif word in ("mac", "pc", "pca"):
            self._charset = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word == "plain":
            self._group = replace(group, charset="")
        elif word == "f":
            self._group = replace(group, charset=self._charset_of_font.get(number or 0, ""))
        elif word == "s":
            self._group = replace(group, level=self._level_of_style.get(number or 0, 0))
        elif word == "outlinelevel" and number is not None:
            self._group = replace(group, level=number + 1 if 0 <= number < 9 else 0)
        elif word == "uc" and number is not None:
            self._group = replace(group, stand_ins=min(max(number, 0), 9))

    def _hold(self, data: bytes) -> None:
        """Collect bytes until text follows them: in Asian encodings, a character has two bytes."""
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self._bytes += data[skipped:]

    def _decode(self) -> None:
        if self._bytes:
            text = self._bytes.decode(self._group.charset or self._charset, "replace")
            self._bytes.clear()
            self._say(text)

    def _say(self, text: str) -> None:
        self._decode()
        if not self._group.into:
            self._line.append(text)
        elif self._group.into == "stylesheet" and (heading := _HEADING.match(text)):
            self._level_of_style.setdefault(self._named, int(heading[1]))
        elif self._group.into in _FACTS:
            self.facts[self._group.into] = self.facts.get(self._group.into, "") + text

    def _end_line(self) -> None:
        self._decode()
        # Characters beyond the first 65,536 are written as two.
        text = "".join(self._line).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self._line.clear()
        self.lines.append((self._group.level, " ".join(text.split()).removesuffix(" |")))


def _known(charset: str) -> str:
    try:
        return codecs.lookup(charset).name
    except LookupError:
        return {"cp65001": "utf-8", "cp936": "gb18030", "cp10000": "mac_roman"}.get(charset, "")
