"""Generates questions by the grammar of a sentence: "In 1912, she won the race" becomes "When did she win the
race?".
"""

import re
from collections.abc import Iterator

from scripts.answerer.encyclopedia_forms import expanded
from scripts.answerer.encyclopedia_rules import PRONOUN, Asked, stripped, worded
from scripts.answerer.encyclopedia_text import Statement, Topic, tidy
from scripts.answerer.lessons import Pair

_IRREGULAR = (
    "begin began become became break broke bring brought build built buy bought choose chose come came drive "
    "drove fall fell fight fought find found fly flew get got give gave go went grow grew hold held keep "
    "kept lead led leave left lose lost make made meet met pay paid put put read read ride rode rise rose run ran "
    "say said see saw sell sold send sent set set sing sang sit sat speak spoke spend spent stand stood steal "
    "stole swim swam take took teach taught tell told think thought throw threw win won write wrote "
)
_REGULAR = (
    "accept achieve acquire act adopt announce appear appoint arrive attack attend award ban beat build capture "
    "celebrate change claim complete compose conquer construct convert create defeat design develop die direct "
    "discover dissolve earn edit elect enter establish finish form found gain graduate host inherit introduce "
    "invade invent invest join kill land launch live marry move name open organize paint participate patent "
    "perform play portray present produce promote propose publish receive record reign release relocate replace "
    "represent resign retire return score serve settle sign start study succeed support surrender travel visit "
    "work debut premiere co-found commission coin pass ratify declare feature "
)


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return {"ban": "banned", "commit": "committed"}.get(verb, verb + "ed")


_PAIRS = _IRREGULAR.split()
_BASES = {_past(verb): verb for verb in _REGULAR.split()} | dict(zip(_PAIRS[1::2], _PAIRS[::2], strict=True))
_BASES["founded"] = "found"
_PASTS = "|".join(sorted(_BASES, key=len, reverse=True))
_AGENTS = (
    "wrote|directed|founded|invented|discovered|designed|introduced|composed|painted|defeated|replaced|won|produced|created|"
    "developed|coined|led|killed|launched|established|proposed|built|conquered|captured|patented|beat|scored"
)
_REST = r'(?P<rest>[^.,;:()"]{2,70}?)'
_NEXT = r"(?:and|but|when|where|who|which|after|before|while)\b"
_STOP = rf"(?= ?[.,;]| (?:as|with|for|to|from|at|by|during|{_NEXT})\b)"
_END = rf"(?= ?[.;]|,| {_NEXT})"
_SINCE = "(?:also |later |then |first )?"
_ON = "(?:in|on) (?P<a><DATE>)"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(expanded(text))


_DID = _pattern(rf"^{_SINCE}(?P<v>{_PASTS}) (?:{_REST} )?{_ON}{_STOP}")
_WAS = _pattern(
    rf"^(?P<be>was|were) {_SINCE}(?P<v>[a-z]+ed|made|built|sold|won|held|sent|given) (?:{_REST} )?{_ON}{_STOP}"
)
_LED_DID = _pattern(rf"^(?P<v>{_PASTS}) {_REST}{_END}")
_LED_WAS = _pattern(rf'^(?P<be>was|were) (?P<rest>[a-z]+ed [^.,;:()"]{{2,70}}?){_END}')
_LEAD = _pattern("^(?:In|On|By) (?P<a><DATE>)$")
_WHY = _pattern(
    rf"^(?P<v>{_PASTS}) {_REST},? (?P<how>because|due to|because of|in order) (?P<a>[^.;()]{{5,90}}?)"
    "(?=[.;]|, (?:and|but|which) )"
)
_WHAT = _pattern(
    rf"^{_SINCE}(?P<v>founded|wrote|published|established|released|directed|produced|recorded|composed|created|designed"
    "|invented|discovered|launched|introduced|built|painted|formed|edited|joined|opened|acquired)"
    r' (?P<a>(?:(?:the|a|an) )?(?:"[^"]{2,50}"|(?:[a-z]+ ){0,4}<NAME>)) (?P<t>in|on) (?P<d><DATE>)'
    r"(?=[.,;]| and\b| with\b)"
)
_MANY = _pattern(
    r"^(?:also )?(?P<v>won|scored|played|appeared in|wrote|published|released|directed|produced|recorded|made|earned"
    "|received|hosted) (?:over |more than |about |a total of |at least )?(?P<a><NUMBER>) (?P<k>[a-z][a-z -]{2,40}?s)"
    r'(?P<w>(?: for| in| at| with| during| of) [^.,;()"]{3,50}?)?(?=[.,;]| and\b)'
)
_WHO = _pattern(
    rf'^(?P<a><NAME>(?: and <NAME>)?) (?P<rest>(?:{_AGENTS}) [^.;()"]{{8,70}}?)'
    r"(?=[.;]|, (?:and|but|which|who|with|when|where))"
)
_IS_A = _pattern(
    r"^(?P<be>is|was|are|were) (?P<a>(?:an?|the) [^.,;()]{6,90}?)"
    r"(?= ?[.,;(]| (?:who|that|which|where|and (?:is|was|has|the)|whose)\b)"
)

_WHYS = ("Why did {x} {base} {rest}?", "For what reason did {x} {base} {rest}?")
_WHATS = ("What did {x} {base} {t} {d}?", "{t} {d}, what did {x} {base}?")
_MANIES = ("How many {k} did {x} {base} {w}?", "What number of {k} did {x} {base} {w}?")


def of_topic(about: Topic, statement: Statement) -> Iterator[Asked]:
    """Yield the questions about the topic (when, why, what, how many) that a statement answers."""
    predicate = statement.predicate
    yield from _when(about.name, statement)
    if (match := _WHY.match(predicate)) and _plain(match["rest"]):
        lead = "in order " if match["how"].split()[-1] == "order" else ""
        yield _asked("why", about, match, f"{lead}{match['a']}", *_WHYS)
    if match := _WHAT.match(predicate):
        yield _asked("what in", about, match, match["a"], *_WHATS)
    if (match := _MANY.match(predicate)) and _plain(match["w"] or ""):
        yield _asked("how many", about, match, match["a"], *_MANIES)


def of_definition(about: Topic, statement: Statement) -> Iterator[Asked]:
    """Yield the question "Who is …?" or "What is …?" about the topic, which the first sentence of its passage
    answers.
    """
    match = _IS_A.match(statement.predicate)
    if (
        match is None
        or statement is not about.opening
        or about.kind not in ("person", "place", "organisation", "thing")
    ):
        return
    article = re.match(r"(?:A|An|The)\s(?=[a-z])", statement.sentence)
    subject = (article[0].lower() if article and not about.name.lower().startswith("the ") else "") + about.name
    if about.kind == "person" and not re.search(r"\sof\s|\sin\s|\sfor\s", match["a"]):
        return
    asks = ("Who {be} {s}?",) if about.kind == "person" else ("What {be} {s}?",)
    question = worded("definition", about.name, asks, {"be": match["be"], "s": subject})
    yield Asked(("definition",), Pair(question, stripped(match["a"])))


def of_sentence(sentence: str) -> Iterator[Asked]:
    """Yield the question "Who …?" about the action of a sentence that begins with a person or an organisation."""
    match = _WHO.match(sentence)
    if match is None or re.match(r"(?:This|These|That|Those|His|Her|Its|Their)\b", sentence) or " " not in match["a"]:
        return
    if _plain(match["rest"]) and re.search(r"[A-Z0-9]", match["rest"]):
        rest = tidy(match["rest"])
        yield Asked(("who", rest), Pair(worded("who", rest, ("Who {rest}?",), {"rest": rest}), stripped(match["a"])))


def _when(name: str, statement: Statement) -> Iterator[Asked]:
    lead = _LEAD.match(statement.lead)
    did = _LED_DID.match(statement.predicate) if lead else _DID.match(statement.predicate)
    was = _LED_WAS.match(statement.predicate) if lead else _WAS.match(statement.predicate)
    match = did or was
    if match is None or not _plain(match["rest"] or "") or re.search(r"\d{4}", match["rest"] or ""):
        return
    fields = {"x": name, "rest": tidy(match["rest"] or "")}
    if did:
        fields |= {"base": _BASES[did["v"]]}
        asks = ("When did {x} {base} {rest}?", "In what year did {x} {base} {rest}?")
    else:
        fields |= {"be": match["be"], "v": "" if lead else match["v"]}
        asks = ("When {be} {x} {v} {rest}?", "In what year {be} {x} {v} {rest}?")
    about = ("when", fields.get("base", fields.get("v", "")), fields["rest"])
    answer = (lead or match)["a"]
    exact = asks if re.fullmatch(r"\d{4}", answer) else asks[:1]
    yield Asked(about, Pair(worded("when", name, exact, fields), stripped(answer)))


def _asked(name: str, about: Topic, match: re.Match[str], answer: str, *wordings: str) -> Asked:
    fields = {key: tidy(span or "") for key, span in match.groupdict().items() if key != "a"}
    first, _, after = fields["v"].partition(" ")
    fields |= {"x": about.name, "base": f"{_BASES[first]} {after}".strip()}
    return Asked((name, *sorted(fields.values())), Pair(worded(name, about.name, wordings, fields), stripped(answer)))


def _plain(span: str) -> bool:
    """Return whether the span can be part of a question: it has no pronoun that refers to something outside of it."""
    return not PRONOUN.search(span)
