"""FLARE (Jiang et al., 2023), active retrieval: if the model is unsure of a sentence of the answer, the sentence is
looked up and written again from the passages found.
"""

import re

from cloud_server.pipelines import prompts
from cloud_server.pipelines.fusion import fused
from cloud_server.pipelines.steps import (
    Answer,
    Inquiry,
    LookUp,
    Passages,
    Say,
    Steps,
    Write,
    Written,
    WrittenToken,
    looked_up,
    written,
)

MOST_SENTENCES = 6
SENTENCE_TOKENS = 64

UNSURE = 0.8
"""The probability of a token below which its sentence is looked up (θ, section 3.2.1)."""

MASKED = 0.4
"""The probability of a token below which the token is left out of the query (β, section 3.2.2)."""

_STOPS = (". ", "? ", "! ", "\n")
_SENTENCE = re.compile(r"\s*\S.*?(?:[.?!](?=\s)|(?=\n)|\Z)", re.DOTALL)


def flare(inquiry: Inquiry) -> Steps:
    """Write the answer sentence by sentence, at most MOST_SENTENCES; the rest is written from all rounds' fused
    passages.
    """
    [passages] = yield from looked_up(LookUp((inquiry.question,)))
    if not passages:
        return None
    rankings: list[Passages] = [passages]
    accepted: tuple[int, ...] = ()
    for _ in range(MOST_SENTENCES):
        draft = yield from written(_draft(inquiry, passages, accepted))
        if query := _query(draft):
            [nearer] = yield from looked_up(LookUp((query,), inquiry.anchored))
            if nearer and _ids(nearer) != _ids(passages):
                rankings.append(nearer)
                passages = nearer
                draft = yield from written(_draft(inquiry, passages, accepted))
        sentence = _sentence(draft)
        if sentence:
            yield Say(sentence, passages)
            accepted += tuple(token.token for token in sentence)
        ended = draft.whole and not draft.stopped and len(sentence) == len(draft.tokens)
        if ended or not sentence or len(accepted) >= inquiry.max_tokens:
            return Answer(fused(rankings, inquiry.most), accepted, whole=True)
    return Answer(fused(rankings, inquiry.most), accepted)


def _draft(inquiry: Inquiry, passages: Passages, accepted: tuple[int, ...]) -> Write:
    prompt = prompts.answer(inquiry, inquiry.question, passages)
    most = min(SENTENCE_TOKENS, inquiry.max_tokens - len(accepted))
    return Write(prompt, most, _STOPS, searched=True, probabilities=True, answers=True, accepted=accepted)


def _sentence(draft: Written) -> tuple[WrittenToken, ...]:
    """Return the tokens of the draft's first sentence."""
    first = _SENTENCE.match(draft.raw)
    return draft.cut(first.end()) if first else ()


def _query(draft: Written) -> str:
    """Return the draft's first sentence without unlikely tokens; "" if the model is sure of it, or no word is left."""
    tokens = _sentence(draft)
    if not draft.says_something or all(_probability(token) >= UNSURE for token in tokens):
        return ""
    query = "".join(token.text for token in tokens if _probability(token) >= MASKED).strip()
    return query if any(character.isalnum() for character in query) else ""


def _probability(token: WrittenToken) -> float:
    return token.probability or 0.0


def _ids(passages: Passages) -> list[int]:
    return [passage.id for passage in passages]
