"""Decides by its words whether a request needs no file: write, translate, explain, summarise a text that it holds.

The verb of each of its first sentences decides. A verb that makes a new text ("write", "translate") needs no file,
unless its object is something known ("the agenda", "Petra's mail"). A verb that treats a given text ("summarise",
"correct") needs none if the request holds that text: below its instructions, after a colon, or in quotation marks.
Other verbs ("explain", "suggest") need none if their object is general. Questions of fact, and all unclear requests,
need files.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from device_app.english.assigned_roles import gives_role, is_free, parted
from device_app.english.following import begins_as_question
from device_app.english.instructions import (
    GENERAL,
    LOOKS,
    LOOKS_UP,
    MAKES,
    MAKES_UP,
    NEXT_SENTENCE,
    POINTS,
    TREATS,
    first_verb,
    without_polite_words,
)
from device_app.english.puzzles import is_puzzle
from device_app.english.query import has_filter
from device_app.english.stop_words import word_set

_READ: Final = 1_000
"""The number of characters of a request's instructions that are parsed; a given text may be of any length."""

_SENTENCES: Final = 6
"""How many sentences, from the beginning of a request, are searched for a verb of instruction."""

_GIVEN_WORDS, _MANY_WORDS, _QUOTED_WORDS, _LONG_WORDS = 4, 12, 8, 25
"""The fewest words of a text that counts as given by the request, for four cases.

The cases are a verb that treats a text, a verb that may also treat something general, a text in quotation marks, which
may be a title, and a text below instructions with any other verb.
"""

_MAKES_OPENLY = word_set("calculate compute convert create generate")
"""Verbs that make a new text only if their object is indefinite: "Generate list of people" needs files."""

_EXPLAINS = word_set("clarify define describe explain")
_EXPLAINED = re.compile(
    r"(?:to )?(?:(?:me|us|simply|briefly) )*(?:what|how|why) (?:an? )?(?!(?:the|this|that|these|those|his|her|their|"
    r"its|he|she|they|it|you|someone|everyone|much|many|long|often|old)\b)(?:[\w-]+ ){1,3}?(?:is|are|means?|works?|"
    r"happens?|develops?|forms?|changes?|exists?)\b(?!.*\b(?:the|this|that|these|those|his|her|their|its)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the beginning of a clause about something general: "what inflation is", "how a vaccine works"."""

_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]+)[\"”»]")
_WORDED = re.compile(r"\W*(?:translate|rephrase|reword|paraphrase|conjugate)\b", re.IGNORECASE)
_QUOTED_WORDING = re.compile(r"(?<!\w)[\"'“”‘’„«][^\"“”„«»]+?[\"'“”‘’»](?!\w)")
"""Matches a wording in quotation marks, after a verb of `_WORDED`: "translate 'good morning, my friends'"."""

_IS_KNOWN = re.compile(
    r"(?:of|for|from|at|with|by|and|or)\b|\W*$|(?:(?:me|us|down|up|out) )*(?:(?:the|his|her|their|its|that|those|what|"
    r"who|when|where|all|every)\b|[\w-]+['’]s? )|(?:(?:me|us|down) )*(?:(?:an?|the|some) )?(?:[\w-]+ )?(?:"
    r"summary|overview|recap|timeline|record|report|account|transcript|minutes|reply|response|answer) (?:of|on|to)\b",
    re.IGNORECASE,
)
"""Matches what follows a verb if it names something that files may hold, as in "Draft the report", or if the verb is a
noun in a heading, as in "Draft of the contract".
"""

_INDEFINITE = re.compile(
    r"(?:(?:me|us|out|about|on|simply|briefly) )*(?:an?|some|several|few|any|different|various|possible|key|common|"
    r"insights|ideas|tips|examples|ways|this|two|three|four|five|six|seven|eight|nine|ten|\d{1,3})\b",
    re.IGNORECASE,
)
"""Matches the beginning of an indefinite object, such as "a poem"."""

_LOOKED_UP = re.compile(
    r" (?:[\w-]+ )?(?:list|summary|overview|recap|timeline|cop(?:y|ies)|reminder|number|address|password|date|time|"
    r"status|update)s?\b|.*\b(?:the|his|her|their)\b(?! (?:best|most|\w+est)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the rest of an indefinite object that files may nevertheless hold: "a list of …", "a summary of …"."""

_HELD = re.compile(
    r" (?:(?!(?:of|for) )[\w-]+ ){0,2}?(?:(?:e-?)?mails?|messages?|letters?|notes?|chats?|appointments?|meetings?|"
    r"invoices?|bills?|receipts?|payments?|expenses?|contracts?|documents?|files?|photos?|contacts?|"
    r"addresses|neighbou?rs?|colleagues?|relatives?|plumbers?|electricians?|dentists?|doctors?|vets?|builders?)"
    r"(?=\W*$| (?:about|by|for|from|in|near|nearby|on|since|that|this|we|which|who|with)\b)"
    r"|.*\b(?:both|the (?:new|last|latest|current|other))\b"
    r"|.*\b(?:news|rundown|picture|overview) (?:from|of) (?:family|friends|today|tomorrow|yesterday|\w+day)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the rest of a general object of which files may hold examples: "three invoices", "a dentist"."""

_LISTED = re.compile(
    r"(?:(?:me|us|out) )*(?:an? )?(?:[\w-]+ ){0,2}?(?:inventory|list|overview|summary|table|timeline)s? of (?!an? |"
    r"(?:all-time|common|different|\d+|eight|fictional|five|four|funny|good|ideas|nine|popular|possible|questions|reasons|"
    r"seven|several|six|some|ten|things to|three|tips|two|various|ways|words)\b)",
    re.IGNORECASE,
)
"""Matches the beginning of a list of items that files may hold, such as "a list of invoices"."""

_NUMBERED = re.compile(
    r"\b(?:article|bill|chapter|contract|document|file|invoice|letter|line|mail|message|note|order|page|paragraph|photo|"
    r"receipt|section|sheet|slide|verse)s? (?:number |no\.? ?|#)?\d",
    re.IGNORECASE,
)
"""Matches a part of a known document: "page 3"."""

_CONCEPTS: Final = (
    r"(?:advantages|basics|benefits|causes|concepts?|correlation|definition|differences?|disadvantages|effects?|history|"
    r"impact|importance|laws?|meaning|nature|principles?|process|pros and cons|similarit(?:y|ies)|stages|synonyms?|"
    r"theor(?:y|em)|types)\b"
)
_CONCEPT = re.compile(
    rf"(?:(?:me|us|about|on|simply|briefly) )*(?:(?:the|an?) )?(?:(?:[\w-]+ ){{0,2}}?{_CONCEPTS}"
    r"|(?:[\w-]+ )?[\w-]*(?:ology|ics|ism|esis|omy|graphy|ali[sz]ation|entanglement|evolution|inflation)\b"
    r"(?: (?:to|in|for) .+)?\W*$)",
    re.IGNORECASE,
)
"""Matches the beginning of an object that is a concept, such as "the benefits of …"."""

_CONCEPT_NOUN = re.compile(rf"\bthe (?:[\w-]+ ){{0,2}}?{_CONCEPTS}", re.IGNORECASE)
_DEFINITE = re.compile(
    r"\b(?:that|these|those|his|her|their|the(?! (?:sun|moon|earth|world|universe|sky|seas?|oceans?|climate|"
    r"environment|economy|internet|(?:human )?(?:body|brain|heart|eye|immune system))\b))\b"
    r"|\b(?:today|tomorrow|tonight|yesterday|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
"""Matches what may be the person's own, "the new dose", and days; what there is only one of is general."""

_NOUNS = word_set("code design draft program")
"""Words that are verbs only before an indefinite object, and else nouns, as in "Code of the garage"."""

_FACTS = re.compile(
    r"\bfrom the (?!point|perspective)[a-z]|\b(?:when|where|how much|how many) (?:the|he|she|they|it|i|we)\b"
    r"|\b(?:what|who|how (?:much|many)(?: \w+){1,2}) (?:was|were|did|had|(?:has|have) been)\b"
    r"|\bsince (?:\w+\W*$|last\b|\d)"
)
"""Matches clauses about facts that files may hold, such as "where he …"."""

_OWN = re.compile(r"\b(?:i|we|my|our|mine|ours)\b", re.IGNORECASE)
_OWN_RECORDS = re.compile(
    r"\b(?:my|our|mine|ours)\b|\b(?:i|we)(?:['’]ve| have| had)? (?:\w+ )?(?:said|wrote|sent|saved|noted|bought|paid|"
    r"read|got|received|discussed|agreed|decided|added|planned|booked|met|asked|talked)\b",
    re.IGNORECASE,
)
_RECIPIENT = re.compile(
    r"\b(?:to|for|with|from|asking|telling|inviting|thanking) (?:my|our) (?:\w+ )?(?:aunt|boss|boyfriend|brother|class|"
    r"colleagues?|cousin|customers?|dad|daughter|doctor|family|father|friends?|girlfriend|grand\w+|husband|kids|landlady|"
    r"landlord|manager|mother|mum|mom|neighbou?rs?|niece|nephew|parents|partner|sister|son|students|supervisor|teacher|"
    r"team|uncle|wife)\b(?!['’])",
    re.IGNORECASE,
)
"""Matches the recipient of a text ("to my boss"), which needs no file."""

_REPORTED = re.compile(
    r"\b(?:said|says|told|mentioned|discussed|talked|agreed|disagreed|decided|promised|sent|recommended|replied|reported|"
    r"wrote|written|emailed|messaged|posted|lent|borrowed|owes?|thinks?|thought|suggested|proposed)\b"
    r"|\b(?:last|next|yesterday['’]?s?|today['’]?s?|tomorrow['’]?s?) (?:week|month|year|night|meeting|\w+day)\b",
    re.IGNORECASE,
)
_RECORDS = re.compile(
    r"\b(?:the|this|that|these|those|all|his|her|their|every|in|from|last|latest|recent|previous|[\w-]+['’]s?) "
    r"(?:[\w-]+ ){0,3}?(?:e-?mails?|messages?|letters?|notes?|chats?|conversations?|discussions?|talks?|debates?|"
    r"meetings?|minutes|appointments?|calendar|agenda|invoices?|bills?|contracts?|leases?|receipts?|files?|folders?|documents?|"
    r"reports?|attachments?|pdfs?|photos?|spreadsheets?|presentations?|diary|journal|logs?|threads?|project|party|trip|visit"
    r"|opinions?|tasks?|to-?dos?)\b",
    re.IGNORECASE,
)
"""Matches mentions of records that files hold ("the last invoice")."""

_PROGRAM = re.compile(
    r"(?:an? )?(?:[\w-]+ ){0,2}?(?:program|script|function|class|method|code|query|regex|website)\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<=[\w,;] )(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)[A-Z]\w*[a-z]")


@dataclass(frozen=True, slots=True)
class _Parts:
    """A request's instructions and the given text, "" if there is none. `quoted`: the text is in quotation marks."""

    instructions: str
    given: str = ""
    quoted: bool = False


def needs_no_file(text: str) -> bool:
    """Return whether a request can be fulfilled without any of the person's files; False if that is unclear."""
    parts = _parts(text)
    instructions = parts.instructions[:_READ]
    if has_filter(text.strip().partition("\n")[0][:_READ]):
        return False
    sentences = _sentences(instructions)
    if any(map(gives_role, sentences)):
        return _is_played(*parted(sentences), parts)
    if _is_private(instructions, parts):
        return False
    return any(_asks_for_text(sentence, parts) for sentence in sentences) or is_puzzle(text[:_READ])


def _is_played(roles: Sequence[str], tasks: Sequence[str], parts: _Parts) -> bool:
    """Return whether all that is asked behind `roles` of the assistant needs no file; a role alone needs none."""
    if not tasks and parts.given:  # the given text may be the task
        tasks, parts = _sentences(parts.given[:_READ]), _Parts(parts.given)
    if _is_private(" ".join((*roles, *tasks)), parts):
        return False
    return any(_asks_for_text(task, parts) for task in tasks) or all(map(is_free, tasks))


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in NEXT_SENTENCE.split(text) if sentence.strip()][:_SENTENCES]


def stands_alone(text: str) -> bool:
    """Return whether a request surely holds the text that it mentions, so that it needs no earlier message."""
    return bool(_parts(text).given)


def _parts(text: str) -> _Parts:
    head, _, block = text.strip().partition("\n")
    if block.strip():
        return _Parts(head, block)
    if (quoted := _QUOTED.search(text[:_READ])) and _count(quoted[1]) >= _QUOTED_WORDS:
        return _Parts(f"{text[: quoted.start()]}{text[quoted.end() :]}", quoted[1], quoted=True)
    worded = _QUOTED_WORDING.search(text[:_READ])
    if worded and _WORDED.match(without_polite_words(text[:_READ])):
        return _Parts(f"{text[: worded.start()]}{text[worded.end() :]}", worded[0], quoted=True)
    before, _, behind = text.partition(":")
    if _count(behind) >= _GIVEN_WORDS and (
        POINTS.search(before[-_READ:]) or first_verb(before)[0] in MAKES | TREATS - LOOKS
    ):
        return _Parts(before, behind)
    return _Parts(text)


def _count(text: str) -> int:
    return len(text[:_READ].split())


def _asks_for_text(sentence: str, parts: _Parts) -> bool:
    """Return whether a sentence asks for a text that needs no file."""
    verb, rest = first_verb(sentence)
    is_given, points = bool(parts.given), bool(POINTS.search(rest))
    if MAKES_UP.match(f"{verb} {rest}") or (points and is_given):
        return True
    if verb in MAKES:
        return is_given or points or _makes_new_text(verb, rest)
    if verb in TREATS:
        return points or _count(parts.given) >= _GIVEN_WORDS
    if verb in _EXPLAINS and _EXPLAINED.match(rest) and not any(own.search(rest) for own in (_NAME, _OWN, _DEFINITE)):
        return True
    if verb in GENERAL:
        return _count(parts.given) >= _MANY_WORDS or _is_general(verb, rest)
    is_asked = verb in LOOKS_UP or begins_as_question(sentence) or begins_as_question(parts.given)
    is_instruction = _count(sentence) >= _GIVEN_WORDS and not (is_asked or parts.quoted or _OWN.search(sentence))
    return is_instruction and _count(parts.given) >= _LONG_WORDS


def _makes_new_text(verb: str, rest: str) -> bool:
    """Return whether a verb with this object asks for a text about nothing that is in the files."""
    is_listed = verb != "brainstorm" and _LISTED.match(rest)
    if is_listed or _IS_KNOWN.match(rest) or _NUMBERED.search(rest) or _FACTS.search(rest):
        return False
    is_open = bool(_INDEFINITE.match(rest))
    if verb in _MAKES_OPENLY:
        return is_open or bool(_PROGRAM.match(rest)) or rest[:1].isdigit()
    return is_open or verb not in _NOUNS


def _is_general(verb: str, rest: str) -> bool:
    """Return whether a verb's object is general and contains no name."""
    indefinite = _INDEFINITE.match(rest)
    is_open = bool(indefinite and not _LOOKED_UP.match(rest, indefinite.end()))
    is_concept = _CONCEPT.match(rest) is not None and not _DEFINITE.search(_CONCEPT_NOUN.sub("", rest))
    is_general = is_open or is_concept or (verb == "define" and not _IS_KNOWN.match(rest))
    is_held = verb not in _EXPLAINS and _HELD.match(rest, indefinite.end() if indefinite else 0)
    return is_general and not (is_held or _NAME.search(rest) or _OWN.search(rest))


def _is_private(instructions: str, parts: _Parts) -> bool:
    """Return whether instructions mention possessions of the person, earlier statements, or known records."""
    others = _RECIPIENT.sub("", instructions)
    if _OWN_RECORDS.search(others):
        return True
    if parts.given and not parts.quoted:
        return False
    verb, rest = first_verb(others)
    is_program = verb in MAKES and _PROGRAM.match(rest)
    return not is_program and bool(_REPORTED.search(others) or _RECORDS.search(others))
