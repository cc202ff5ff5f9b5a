"""Public passages as both sides put them into a prompt: from the same ones, both have to make the same."""

from collections.abc import Sequence

from shared.prompt import ChatTemplate, Prompt, build
from shared.protocol.messages import PublicPassage
from shared.types import PUBLIC, Hit, StoredPassage


def stored(passage: PublicPassage) -> StoredPassage:
    """The passage as prompts and sources have it."""
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
    """The passage as a source of an answer."""
    return Hit(stored(passage), passage.score, passage.similarity, side="server")


def public_prompt(question: str, passages: Sequence[PublicPassage], template: ChatTemplate, rows: int = 1) -> Prompt:
    """The prompt for a public question, the passages in the order given, divided into so many rows."""
    return build(question, [stored(passage) for passage in passages], template).in_rows(rows)
