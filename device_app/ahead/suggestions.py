"""Suggests a few first questions to a new person; each is tested on the person's files before it is shown.

The test needs no model but the embedder: a rule answers the question with at least one document, the files are quoted,
or the first passage retrieved proves the value that the question asks for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from device_app.ahead.selection import own_names
from device_app.answering.assistant import Assistant
from device_app.answering.state import Action
from device_app.english import questions
from device_app.everyday.examples import examples
from device_app.knowledge.proof import Subject
from device_app.question.options import Options
from shared.errors import UsageError
from shared.text import embedded_text
from shared.types import StoredPassage

LOOKED_AT = 16
"""The number of passages from which questions are made."""

_PER_PASSAGE = 2
"""The most questions of a passage that are embedded to be compared with it: embedding takes most of the time."""

_MOST_TRIED = 12
"""The most questions that are tested: they take about a second on a phone."""

_BY_RULE = 1
"""The number of questions answered by rules that come first; more follow if passages give too few questions."""

_OWN_KIND, _STATED_VALUE = 0.2, 0.3
"""Bonuses added to the cosine by which suggested questions are ranked: for a question from a document of a kind that no
chosen suggestion has yet, and for one whose answer is a value stated in the passage.
"""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A question, the document that it was made from, that document's kind, and its cosine with the passage.

    `value` is the answer, as the passage states it; "" if the files would be quoted.
    """

    question: str
    document: int
    kind: str
    nearness: float
    value: str = ""


def suggest(assistant: Assistant, options: Options, count: int) -> list[str]:
    """Return `count` suggested questions, fewer if no more can be made. Raises StoreError and the embedder's errors."""
    store, people = assistant.retriever.store, assistant.retriever.people
    by_rule = examples(store, people, assistant.everyday, assistant.clock())
    first = list(islice(by_rule, _BY_RULE))
    suggested = [each for passage in store.spread(LOOKED_AT) for each in _about(assistant, passage)]
    alone = replace(assistant, public=None, freshness=None)
    answered = choose(suggested, count - len(first), lambda candidate: _is_answered(alone, options, candidate))
    return [*first, *answered, *by_rule][:count]


def choose(
    suggested: Sequence[Suggested], count: int, is_answered: Callable[[Suggested], bool] = lambda _: True
) -> list[str]:
    """Return at most `count` answerable questions, nearest to their passages, from different documents and kinds if
    possible.

    At most _MOST_TRIED questions are tested by `is_answered`.
    """
    left, chosen = list(suggested), list[Suggested]()
    for _ in range(_MOST_TRIED):
        if not left or len(chosen) >= count:
            break
        documents, kinds = {candidate.document for candidate in chosen}, {candidate.kind for candidate in chosen}
        left.sort(
            key=lambda candidate: (
                candidate.document in documents,
                -candidate.nearness - _OWN_KIND * (candidate.kind not in kinds) - _STATED_VALUE * bool(candidate.value),
            )
        )
        if is_answered(candidate := left.pop(0)):
            chosen.append(candidate)
    return [candidate.question for candidate in chosen]


def _is_answered(assistant: Assistant, options: Options, candidate: Suggested) -> bool:
    """Return whether the question has an answer that needs no model, or one that its first passage proves."""
    try:
        explained = assistant.explain(candidate.question, options)
    except UsageError:  # an invalid filter in the question: it cannot be asked
        return False
    ruled, hits = explained.state.ruled, explained.state.hits
    if ruled:
        return bool(ruled.items)
    if isinstance(explained.otherwise, Action) and explained.otherwise.kind == "quote":
        return True
    passages = [hit.passage for hit in hits]
    proof = Subject(explained.request.query, passages).proof(candidate.value, passages[:1]) if hits else None
    return bool(candidate.value) and proof is not None


def _about(assistant: Assistant, passage: StoredPassage) -> Iterator[Suggested]:
    """Yield questions about the passage: for the values that it states, else for what people said in it."""
    made = list(questions.stated(passage, own_names(assistant)))[:_PER_PASSAGE]
    made += [(question, "") for question in questions.said_about(passage)][: _PER_PASSAGE - len(made)]
    if not made:
        return
    texts = [question for question, _ in made]
    near, *vectors = assistant.embedder.embed([embedded_text(passage.title, passage.text), *texts])
    for (question, value), vector in zip(made, vectors, strict=True):
        yield Suggested(question, passage.document_id, passage.kind, float(near @ vector), value)
