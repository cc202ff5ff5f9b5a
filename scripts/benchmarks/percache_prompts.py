"""Prompts that request everything that PerCache's published prompts request (B.3), in other words. The app's own
prompts are shorter (`ahead.predictor`).
"""

from collections.abc import Sequence

from shared.prompt import passage_text
from shared.types import StoredPassage

_FORM = "Write them as '1. ...?; 2. ...?; 3. ...?' and write nothing else."


def abstract_prompt(passages: Sequence[StoredPassage]) -> str:
    """Return the prompt that requests one sentence about some passages (Figure 26)."""
    texts = "\n".join(map(passage_text, passages))
    return (
        f"{texts}\n\nCondense this text into one sentence with its most important events and ideas. Leave out what is "
        "not essential, and write nothing but the sentence."
    )


def knowledge_prompt(kind: str, abstract: Sequence[str], count: int) -> str:
    """Return the prompt that requests `count` questions about files of a kind, from their abstract (Figure 27)."""
    return (
        f"{_role(kind)} This is what they are about:\n" + "\n".join(abstract) + "\n\n"
        "Which questions will this person probably ask about them in everyday life? They may be:\n"
        f'1. general, for example: "What are the {kind} of last Monday mainly about?"\n'
        '2. about details, for example: "What did I say that I would do on Friday?"\n\n'
        f"Write {count} questions that may be asked. {_FORM}"
    )


def history_prompt(kind: str, history: Sequence[str], count: int) -> str:
    """Return the prompt that requests `count` questions like the earlier ones, of which the latest is last (Figure
    28).
    """
    return (
        f"{_role(kind)} These questions were asked lately:\n" + "\n".join(history) + "\n\n"
        f"Write {count} more questions that may be asked. Keep to the style, tone, politeness and interests of these, "
        f"and repeat none of them. {_FORM}"
    )


def _role(kind: str) -> str:
    return f"You are the assistant on a person's phone, and answer questions from their {kind}."
