"""The prompts of pipelines, in the model's own chat template. Passages and texts that the model wrote before are
inserted as plain text, never as control tokens.
"""

from collections.abc import Sequence

from cloud_server.pipelines.steps import Inquiry
from shared.prompt import Exchange, Prompt, instructed
from shared.protocol.messages import PublicPassage
from shared.public import public_prompt, stored

_HYPOTHETICAL = "Write a short passage of an encyclopedia that answers the question."
_DECOMPOSE = "Split the question into two to four simpler questions, one on each line. Write the questions only."
_NARROW = "Write one short question that has to be answered first to answer the question. Write that question only."
_JUDGE = "Do the earlier answers say all that the question asks for? Answer yes or no."
_NEEDED = "Does answering the question need facts from an encyclopedia? Answer yes or no."
_CRITIQUE = "Does the passage support this answer to the question? Answer yes or no."


def answer(inquiry: Inquiry, question: str, passages: Sequence[PublicPassage]) -> Prompt:
    """Return the prompt of a drafted answer. It has the form of the final answer's prompt, so that both share cached
    states.
    """
    return public_prompt(question, passages, inquiry.template)


def hypothetical(inquiry: Inquiry) -> Prompt:
    """Return the prompt that asks for a passage which might answer the question (HyDE, section 3.2)."""
    return instructed(_question(inquiry), (), inquiry.template, _HYPOTHETICAL)


def decompose(inquiry: Inquiry) -> Prompt:
    """Return the prompt that asks for sub-questions of the question."""
    return instructed(_question(inquiry), (), inquiry.template, _DECOMPOSE)


def narrow(inquiry: Inquiry, earlier: Sequence[Exchange]) -> Prompt:
    """Return the prompt that asks for the question to look up next, given the earlier questions and answers."""
    return instructed(_earlier(earlier) + _question(inquiry), (), inquiry.template, _NARROW)


def judge(inquiry: Inquiry, earlier: Sequence[Exchange]) -> Prompt:
    """Return the prompt that asks whether the earlier answers answer the whole question."""
    return instructed(_earlier(earlier) + _question(inquiry), (), inquiry.template, _JUDGE)


def needed(inquiry: Inquiry) -> Prompt:
    """Return the prompt that asks whether the question needs passages (Self-RAG, section 3: Retrieve)."""
    return instructed(_question(inquiry), (), inquiry.template, _NEEDED)


def critique(inquiry: Inquiry, passage: PublicPassage, draft: str) -> Prompt:
    """Return the prompt that asks whether the passage supports the draft (Self-RAG, section 3: IsSup)."""
    asked = f"{_question(inquiry)}\nAnswer: {draft}"
    return instructed(asked, [stored(passage)], inquiry.template, _CRITIQUE)


def _question(inquiry: Inquiry) -> str:
    return f"Question: {inquiry.question}"


def _earlier(earlier: Sequence[Exchange]) -> str:
    return "".join(f"Earlier question: {said.question}\nEarlier answer: {said.answer}\n" for said in earlier)
