"""Extracts a mail's own words: removes quoted text, signatures and list footers.

Works line by line, in linear time. The existing library loses whole texts, because it takes a list's first hyphen or a
line beginning with "Thanks," for a signature; it also loses replies below a quotation.
"""

import re
from collections.abc import Sequence

_LONGEST = 300
_ORIGINAL = re.compile(
    r"[-_* ]{2,}\s*(?:Original Message|Original-Nachricht|Urspr(?:ü|ue)ngliche Nachricht|Message d'origine"
    r"|Mensaje original|Messaggio originale|Oorspronkelijk bericht|Mensagem original|Исходное сообщение)\s*[-_* ]{2,}$",
    re.IGNORECASE,
)
_WROTE = (
    r"(?:wrote|writes|said|schrieb|schreibt|a écrit|escribió|ha scritto|schreef|napsal(?:\(a\))?|skrev|escreveu"
    r"|kirjoitti|napisał(?:\(a\))?|пишет|写道|님이 작성)"
)
_ATTRIBUTION_END = re.compile(rf"\b{_WROTE}\b.{{0,120}}[:：]\s*$|{_WROTE}[:：]\s*$", re.IGNORECASE)
_ATTRIBUTION = re.compile(rf"(?:On|Am|Le|El|Il|Op|Dne|Den|Em|W dniu)\s.{{6,}}{_WROTE}.{{0,120}}:\s*$")
_HEADER = re.compile(
    r"[* ]*(From|Von|De|Da|Van|Sent|Gesendet|Envoyé|Enviado|Inviato|Verzonden|Date|Datum|To|An|À|Para"
    r"|Aan|Subject|Betreff|Objet|Asunto|Oggetto|Onderwerp|Cc)\s*:[* ]+\S",
    re.IGNORECASE,
)
_SENT_FROM = re.compile(
    r"(?:Sent from (?:my|Mail for|Outlook|Yahoo)|Get Outlook for|Von meinem .{1,40} gesendet|Gesendet (?:von|mit)"
    r"|Envoyé de(?:puis)? mon|Enviado desde mi|Inviato da)\b.{0,80}$",
    re.IGNORECASE,
)
_FOOTER = re.compile(r"[_=-]{30,}\s*$")
_FORWARD = re.compile(
    r"[-_* ]*(?:Begin forwarded message|Forwarded message|Weitergeleitete Nachricht|Anfang der weitergeleiteten"
    r"|Message transféré|Mensaje reenviado|Messaggio inoltrato)",
    re.IGNORECASE,
)
_SIGNATURE_LINES, _FOOTER_LINES = 15, 6


def own_words(lines: Sequence[str]) -> list[str]:
    """Return the lines that the sender wrote; if there are none, the quoted lines without their ">" marks."""
    for index, line in enumerate(lines):
        if _FORWARD.match(line):  # forwarded text is new to its reader
            return _own(lines[:index]) + [text.lstrip("> ") for text in lines[index:]]
    own = _own(lines)
    return own if any(line.strip() for line in own) else [line.lstrip("> ") for line in lines]


def signature(lines: Sequence[str]) -> list[str]:
    """Return the lines of the sender's signature, which stand below "--": `own_words` leaves them out."""
    forward = next((index for index, line in enumerate(lines) if _FORWARD.match(line)), len(lines))
    own = _without_quotations(_above_original(list(lines[:forward])))
    below = own[len(_without_signature(own)) :]
    start = next((index for index, line in enumerate(below) if line.rstrip() == "--"), len(below))
    end = next((index for index, line in enumerate(below) if index > start and _FOOTER.match(line)), len(below))
    return [line.strip() for line in below[start + 1 : end] if line.strip()]


def _own(lines: Sequence[str]) -> list[str]:
    return _without_signature(_without_quotations(_above_original(list(lines))))


def _above_original(lines: list[str]) -> list[str]:
    """Return the lines above an appended original mail, if there are any; else all lines."""
    # Replies may follow quoted lines: `_without_quotations` handles these.
    last_quoted = max((index for index, line in enumerate(lines) if line.startswith(">")), default=-1)
    for index, line in enumerate(lines[last_quoted + 1 :], start=last_quoted + 1):
        if len(line) <= _LONGEST and (_ORIGINAL.match(line) or _ATTRIBUTION.match(line) or _heads_copy(lines, index)):
            end = index
            while end and not lines[end - 1].strip(" _-*\t"):
                end -= 1
            return lines[:end] or lines
    return lines


def _heads_copy(lines: list[str], index: int) -> bool:
    """Return whether a header copied by a mail program begins at this line: From, then at least two more fields."""
    first = _HEADER.match(lines[index])
    if not first or first[1].lower() not in ("from", "von", "de", "da", "van"):
        return False
    fields = {match[1].lower() for line in lines[index : index + 6] if (match := _HEADER.match(line[:_LONGEST]))}
    return len(fields) >= 3


def _without_quotations(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if not line.lstrip().startswith(">"):
            kept.append(line)
        elif line.strip("> \t") or not kept or kept[-1].strip():
            _drop_attribution(kept)
            if kept and kept[-1].strip():
                kept.append("")
    return kept


def _drop_attribution(kept: list[str]) -> None:
    """Remove the one or two lines above a quotation if they say who wrote it."""
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    if end and len(kept[end - 1]) <= _LONGEST and _ATTRIBUTION_END.search(kept[end - 1]):
        start = end - 1
        while start and end - start < 3 and kept[start - 1].strip() and not re.match(r"(?:On|Am|Le|At)\s", kept[start]):
            start -= 1
        del kept[start:]


def _without_signature(lines: list[str]) -> list[str]:
    end = len(lines)
    for index in range(max(0, end - _SIGNATURE_LINES), end):
        below = sum(1 for line in lines[index + 1 :] if line.strip())
        if lines[index].rstrip() == "--" or (0 < below <= _FOOTER_LINES and _FOOTER.match(lines[index])):
            end = index
            break
    while end and (not lines[end - 1].strip() or _SENT_FROM.match(lines[end - 1].strip()[:_LONGEST])):
        end -= 1
    return lines[:end]
