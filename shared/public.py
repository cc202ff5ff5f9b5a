"""Builds prompts from public passages. Device and server share this code, because they must build equal prompts from
equal passages.
"""

from collections.abc import Sequence

from shared.prompt import ChatTemplate, Prompt, build
from shared.protocol.messages import PublicPassage
from shared.types import PUBLIC, Hit, StoredPassage


def stored(passage: PublicPassage) -> StoredPassage:
    """Return the passage in the form that prompts and sources use."""
    return StoredPassage(
        id=passage.id,
        text=passage.text,
        ordinal=0,
        line=None,
        page=None,
        document_id=passage.id,
        title=passage.title,
        kind=PUBLIC,
        date=None,
        people=(),
        path=passage.path,
    )


def hit(passage: PublicPassage) -> Hit:
    """Return the passage as a source of an answer."""
    return Hit(stored(passage), passage.score, passage.similarity, side="server")


def public_prompt(question: str, passages: Sequence[PublicPassage], template: ChatTemplate, rows: int = 1) -> Prompt:
    """Return the prompt for a question that is answered from public passages, in the given order, divided among `rows`
    separate prompts (rows).
    """
    return build(question, [stored(passage) for passage in passages], template).in_rows(rows)
