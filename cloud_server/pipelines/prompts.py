"""What a pipeline has the model write: prompts in the model's own chat template. What a model wrote before, or a
passage says, is plain text in them and never a control token.
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
    """The prompt of an answer, as a device's own is written: what is kept of either serves both."""
    return public_prompt(question, passages, inquiry.template)


def hypothetical(inquiry: Inquiry) -> Prompt:
    """A passage that might answer the question (HyDE, section 3.2)."""
    return instructed(_question(inquiry), (), inquiry.template, _HYPOTHETICAL)


def decompose(inquiry: Inquiry) -> Prompt:
    """Sub-questions of the question."""
    return instructed(_question(inquiry), (), inquiry.template, _DECOMPOSE)


def narrow(inquiry: Inquiry, earlier: Sequence[Exchange]) -> Prompt:
    """The question to look up next, after those that were answered."""
    return instructed(_earlier(earlier) + _question(inquiry), (), inquiry.template, _NARROW)


def judge(inquiry: Inquiry, earlier: Sequence[Exchange]) -> Prompt:
    """Whether the question is answered by now."""
    return instructed(_earlier(earlier) + _question(inquiry), (), inquiry.template, _JUDGE)


def needed(inquiry: Inquiry) -> Prompt:
    """Whether to look anything up (Self-RAG, section 3: Retrieve)."""
    return instructed(_question(inquiry), (), inquiry.template, _NEEDED)


def critique(inquiry: Inquiry, passage: PublicPassage, draft: str) -> Prompt:
    """Whether the passage supports the draft (Self-RAG, section 3: IsSup)."""
    asked = f"{_question(inquiry)}\nAnswer: {draft}"
    return instructed(asked, [stored(passage)], inquiry.template, _CRITIQUE)


def _question(inquiry: Inquiry) -> str:
    return f"Question: {inquiry.question}"


def _earlier(earlier: Sequence[Exchange]) -> str:
    return "".join(f"Earlier question: {said.question}\nEarlier answer: {said.answer}\n" for said in earlier)
