"""The prompts that PerCache publishes (B.3), word for word. The app's own are shorter (`ahead.predictor`)."""

from collections.abc import Sequence

from shared.prompt import passage_text
from shared.types import StoredPassage


def abstract_prompt(passages: Sequence[StoredPassage]) -> str:
    """Return the prompt for one sentence about some passages (Figure 26)."""
    chunks = "\n".join(map(passage_text, passages))
    return (
        "Please summarize the following text into a sentence that captures the key events and key concepts: "
        f"{chunks}. Focus only on the essential core content and main ideas. Do NOT include any other text or "
        "explanations."
    )


def knowledge_prompt(kind: str, abstract: Sequence[str], count: int) -> str:
    """Return the prompt for `count` questions about files of this kind, from their abstract (Figure 27)."""
    sentences = "\n".join(abstract)
    return (
        f"You are a smartphone AI assistant that helps users by checking their {kind} to answer questions. Here is "
        f"some abstract of the content: {sentences}.\n\n"
        "Think about what questions users are most likely to ask regarding this content in their daily life.\n\n"
        f"The user might ask two kind of questions about their {kind}, such as:\n\n"
        f'1. General questions. Such as "What is the main topic of the {kind} recorded on XXX?".\n'
        '2. Detailed questions. Such as "What activities did the user mention doing on XXX day?".\n\n'
        f"Now guess {count} questions that users might ask. Provide them in this format: '1. ...?; 2. ...?; 3. ...?' "
        "without any other text or explanations."
    )


def history_prompt(kind: str, history: Sequence[str], count: int) -> str:
    """Return the prompt for `count` questions like the earlier ones, the latest of which is last (Figure 28)."""
    asked = "\n".join(history)
    return (
        f"You are a smartphone AI assistant that helps users by checking their {kind} to answer questions. Here is "
        f"their recent query history: {asked}.\n\n"
        f"Generate another {count} questions users might ask. Carefully analyze and mirror the language style, tone, "
        "formality level, and interests shown in the examples.\n\n"
        "Please provide them in this format: '1. ...?; 2. ...?; 3. ...?' Do not repeat the examples. Do not include "
        "any other text or explanations, just the questions."
    )
