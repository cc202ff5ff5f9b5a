"""The room from which everything on the server is reached: from a question to sources, from sources to a job.

The mirror of `Assistant.ask` on the device; the writing itself is `generation`'s, for all devices together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cloud_server.engine.jobs import Job, Segments
from cloud_server.retrieval.corpus import Corpus
from models.engine import Embedder, Engine
from models.sampling import SamplingSettings
from shared.aggregation.weights import row_similarities, row_weights
from shared.prompt import ChatTemplate, Segment
from shared.protocol.messages import Ask, Pipeline, PublicPassage, Sampling, Start
from shared.public import public_prompt


@dataclass(frozen=True, slots=True)
class Answering:
    """The parts that answer. Of the engine, only its tokenizer is used here, which any thread may.

    `pipelines` are those that a device may ask for.
    """

    engine: Engine
    template: ChatTemplate
    embedder: Embedder
    corpus: Corpus | None
    relevance: float
    pipelines: tuple[Pipeline, ...] = ("plain",)

    def knows(self, tokens: Sequence[int]) -> bool:
        """Whether all of them are tokens of the model's vocabulary."""
        return max(tokens, default=0) < self.engine.info.vocabulary

    def find(self, ask: Ask) -> list[PublicPassage]:
        """What the question is answered from: the passages it names, or the nearest that are near enough."""
        if self.corpus is None:
            return []
        if ask.sources:
            return self.corpus.passages(ask.sources)
        if not ask.passages:
            return []
        vector = self.embedder.embed([ask.question])[0]
        passages = self.corpus.search(vector, ask.passages)
        return [passage for passage in passages if passage.similarity >= self.relevance]

    def job(self, ask: Ask, begin: Ask | Start, passages: Sequence[PublicPassage]) -> Job:
        """What there is to write: the whole answer, or on from where `begin` says that it stands.

        The passages, the best first, are divided into `ask.rows` rows of about as many each, or a row for each where
        there are fewer; a row weighs as much as its passages together, by log-sum-exp of their similarities.
        """
        prompt = public_prompt(ask.question, passages, self.template, ask.rows)
        log_weights = row_weights(row_similarities([passage.similarity for passage in passages], ask.rows))
        accepted = begin.accepted or tuple(self.engine.tokenize(begin.accepted_text))
        # Handed over as text, the device does not count what was written before: its tokens are others.
        longer = len(accepted) - len(begin.accepted)
        return Job(
            tuple(self._row(prompt.head, row, prompt.tail) for row in prompt.passages),
            tuple(log_weights.tolist()),
            _sampling(ask.sampling),
            ask.max_tokens + longer,
            accepted,
            rule=ask.rule if ask.ahead else None,
            ahead=ask.ahead,
        )

    def _row(self, head: Sequence[Segment], passages: Sequence[Segment], tail: Sequence[Segment]) -> Segments:
        parts = (head, *((passage,) for passage in passages), tail)
        return tuple(tuple(self._tokens(part)) for part in parts if part)

    def _tokens(self, segments: Sequence[Segment]) -> list[int]:
        return [token for segment in segments for token in self.engine.tokenize(segment.text, special=segment.special)]


def _sampling(asked: Sampling) -> SamplingSettings:
    return SamplingSettings(
        temperature=asked.temperature,
        top_k=asked.top_k,
        top_p=asked.top_p,
        min_p=asked.min_p,
        repetition_penalty=asked.repetition_penalty,
        seed=asked.seed,
    )
