"""Builds the finished answer for each outcome of a question, and adds its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from device_app.english import private
from device_app.english.languages import other_language
from device_app.question.abstention import nearest, not_told
from device_app.question.answer import (
    NOT_FOLLOWED,
    NOT_NAMED,
    NOTHING_ANYWHERE,
    NOTHING_FOUND,
    WENT_ON,
    Answer,
    Matched,
    evidence_of,
    hits_of,
    unsupported,
)
from device_app.question.evidence import Carried
from shared.errors import NothingWritten
from shared.printable import visible
from shared.prompt import is_not_found
from shared.types import Hit

if TYPE_CHECKING:
    from device_app.answering.checking import Check, Written
    from device_app.answering.quoting import Quoted
    from device_app.answering.state import Action
    from device_app.cache.answers.bank import Considered
    from device_app.everyday.rule import Ruled
    from device_app.question.request import Request
    from models.engine import Embedder, EngineInfo
    from shared.trace import Trace
    from shared.types import StoredPassage

A_SERVER_WRITES: Final = "A companion server can write the text, too (jackdaw status: whether one is connected)."
NOT_ENGLISH: Final = (
    "This looks like {}, and I read questions in English only. To find words of any language: jackdaw search WORDS"
)
TO_FILES: Final = "To ask your files instead, add a filter to the request, such as kind:note."


def kept(considered: Considered, passages: Mapping[int, StoredPassage], trace: Trace) -> Answer:
    """Return an answer kept from an earlier question. `passages` are those of its sources that are still stored."""
    entry = considered.entry
    return Answer(
        str(entry.answer),
        hits_of(entry.record, passages),
        evidence_of(entry.record),
        trace,
        entry.record["model"],
        matched=Matched(entry.question, considered.similarity, entry.answered_at),
        cut=entry.record.get("cut", False),
        support=entry.record.get("support"),
        lacks=entry.lacks,
        nearest=evidence_of(entry.record, "nearest"),
        model_hash=entry.record.get("model_hash", ""),
    )


def unsuited(request: Request) -> str:
    """Return why this device's model does not answer requests that need no file, and which model would."""
    return " ".join((request.options.unsuited, *([] if request.has_server else [A_SERVER_WRITES])))


def ruled(answered: Ruled, action: Action, trace: Trace) -> Answer:
    """Return the answer that a rule gave."""
    hits = [Hit(passage, 1.0, 0.0) for passage in answered.sources]
    items = [item.as_json() for item in answered.items]
    carried = {"written": "rule", "decided": action.reasons, "understood": answered.understood, "items": items}
    return Answer(answered.text, hits, None, trace, "", **carried)  # type: ignore[arg-type]


def declined(request: Request, action: Action) -> Answer:
    """Return the answer that this device's model is too small for the request, with the model needed for it."""
    _, *why_here = action.reasons
    no_server = (f"No server wrote it: {why.removeprefix(f'{WENT_ON}: ')}." for why in why_here)
    text = " ".join((unsuited(request), *no_server, TO_FILES))
    carried = {"found": False, "abstained": True, "model_only": True, "decided": action.reasons}
    return Answer(text, (), None, request.trace, "", **carried)  # type: ignore[arg-type]


def from_model(text: Written, info: EngineInfo, trace: Trace) -> Answer:
    """Return the answer that a model wrote without files and passages. Raises NothingWritten."""
    said = text.text
    if not visible(said):
        raise NothingWritten
    if is_not_found(said):  # as it was taught to say of passages
        raise NothingWritten("The model did not do what the request asks for")
    model_hash = f"{info.model_hash} {info.adapter}".rstrip()
    return Answer(said, (), None, trace, info.model, cut=text.pieces[-1].cut, model_hash=model_hash, model_only=True)


def quoted(quote: Quoted, action: Action, trace: Trace) -> Answer:
    """Return an answer quoted from the files."""
    carried = {"support": "word for word", "quoted": True, "decided": action.reasons, "lacks": action.lacks}
    return Answer(quote.text, quote.hits, None, trace, "", **carried)  # type: ignore[arg-type]


def in_english(question: str, answer: Answer) -> Answer:
    """Return an abstention with a sentence that questions are read in English, if this one is in another language.

    Any other answer is returned as it is, and so is the notice that stands for an answer marked as wrong.
    """
    if not answer.abstained or answer.marked_wrong or answer.model_only or not (language := other_language(question)):
        return answer
    return replace(answer, text=f"{answer.text} {NOT_ENGLISH.format(language)}")


def nothing(request: Request) -> Answer:
    """Return the answer that the files contain nothing on the question, with the reason why no server is asked."""
    text = NOTHING_FOUND
    if request.local_only and not request.query.is_limited and request.has_server:
        why = {private.MAY_NAME_FILES: NOT_NAMED, private.ON_PHONE: f"{private.ON_PHONE.capitalize()}."}
        text += f" {why.get(request.local_only, NOT_FOLLOWED)}"
    return Answer(text, (), None, request.trace, "", found=False, abstained=True)


def not_raced(why: str, action: Action, trace: Trace) -> Answer:
    """Return the answer that the files contain nothing on the question; `why` no server could be asked is added to its
    reasons.
    """
    decided = (*action.reasons, why)
    return Answer(NOTHING_FOUND, (), None, trace, "", found=False, abstained=True, decided=decided)


def nothing_anywhere(trace: Trace) -> Answer:
    """Return the answer that neither the files nor the server contain anything on the question."""
    return Answer(NOTHING_ANYWHERE, (), None, trace, "", found=False, abstained=True)


def still_silent(silent: Answer, raced: Answer) -> Answer:
    """Return the abstention that neither the files nor a server's passages contain an answer.

    `silent` is the abstention from the files, `raced` the one from the server's passages.
    """
    raced.trace.first_token()
    hits = [*silent.hits, *raced.hits]
    text, found_out = not_told(hits), raced.decided or silent.decided
    return replace(silent, text=text, hits=hits, trace=raced.trace, decided=found_out, guess=raced.guess)


def written(
    request: Request,
    text: Written,
    near: Sequence[Hit],
    info: EngineInfo,
    embedder: Embedder,
    check: Check | None = None,
    *,
    is_strict: bool = True,
) -> Answer:
    """Return the answer that a model wrote, with its evidence; or an abstention, with the passages `near` the question.

    Evidence is searched for if the options say so. With `is_strict`, "Yes" and "No" must be proven by a passage
    if nothing has checked them, and a passage that allows or forbids what is asked must not say the opposite. An answer
    of another kind than asked for is a guess. Raises NothingWritten.
    """
    from device_app.english.answer_kinds import misfits  # only texts of models are checked, and it takes long
    from device_app.knowledge import evidence
    from device_app.knowledge.proof import Subject, asks_whether, decision

    said, hits, trace = text.text, text.hits, request.trace
    if not visible(said):
        raise NothingWritten
    if is_not_found(said):
        return Answer(not_told(hits), nearest(hits, near), None, trace, info.model, abstained=True)
    carried = Carried(None, None, None)
    subject = check.subject if check else Subject(request.query, [hit.passage for hit in near])
    is_contradicted = is_strict and subject.contradicts(said, [hit.passage for hit in hits])
    is_misfit = misfits(request.query.text, said)
    if request.options.evidence:
        with trace.step("evidence"):
            carried = evidence.behind(subject, said, [hit.passage for hit in hits], embedder)
    whether = is_strict and bool(decision(said)) and asks_whether(request.query.text)
    is_decided = carried.proof is not None or not whether or not request.options.evidence
    if is_contradicted or is_misfit or not (check.is_sure(text) if check else carried.support != "none" and is_decided):
        answer = Answer(said, hits, None, trace, info.model)
        return unsupported(answer, nearest(hits, near))
    return Answer(
        said,
        hits,
        carried.proof,
        trace,
        info.model,
        cut=text.pieces[-1].cut,
        support="near" if carried.support == "none" else carried.support,  # "Yes" and "No" pass by their margin
        nearest=carried.nearest,
        model_hash=f"{info.model_hash} {info.adapter}".rstrip(),
    )
