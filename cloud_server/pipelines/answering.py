"""The steps of answering on the server: find passages for a question, and build the job that writes the answer.

The counterpart of the device's `Assistant.ask`. `Generation` decodes the jobs of all devices together.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cloud_server.engine.jobs import Job, Segments
from cloud_server.pipelines.measurements import Conditions
from cloud_server.pipelines.steps import Inquiry, LookUp, Passages, Write
from cloud_server.retrieval.corpus import Corpus, Ticket, Vector
from models.engine import Embedder, Engine
from models.sampling import SamplingSettings
from shared.aggregation.weights import row_similarities, row_weights
from shared.errors import NotWritable, StoreFull
from shared.prompt import ChatTemplate, Segment, divided, turn
from shared.protocol.messages import Ask, Pipeline, PublicPassage, Sampling, Start
from shared.public import public_prompt
from storage.passage_uses import PassageUses

log = logging.getLogger(__name__)

_LEAST_LENGTH = 1e-6
"""The least divisor when the sum of two unit vectors is normalised, because the sum of opposite vectors is zero."""


@dataclass(frozen=True, slots=True)
class Answering:
    """The parts of the server that answer a request. Of the engine, only the tokenizer is used here, which any thread
    may call.

    `anchored` says how queries that the model wrote are searched for (see `Inquiry`). `measured` returns the best
    pipeline under given conditions. Passages with a cosine below `relevance` are not used. `uses` counts how often
    passages are used. `in_rows`: answers that the server writes alone are written in rows of one passage each.
    """

    engine: Engine
    template: ChatTemplate
    embedder: Embedder
    corpus: Corpus | None
    relevance: float
    anchored: bool = True
    measured: Callable[[Conditions], Pipeline] = lambda _: "plain"
    uses: PassageUses | None = None
    in_rows: bool = False

    @property
    def conditions(self) -> Conditions:
        """The conditions under which pipelines are measured: the model, its adapter, the embedder, and how queries that
        the model wrote are searched for (`anchored`).
        """
        info = self.engine.info
        return Conditions(info.model_hash, info.adapter, self.embedder.fingerprint, self.anchored)

    def preferred(self) -> Pipeline:
        """Return the pipeline that answers requests whose device names no pipeline."""
        return self.measured(self.conditions)

    def knows(self, tokens: Sequence[int]) -> bool:
        """Return whether all the given token ids are in the model's vocabulary."""
        return max(tokens, default=0) < self.engine.info.vocabulary

    def named(self, ask: Ask) -> list[PublicPassage]:
        """Return the passages whose ids the request names."""
        return self.corpus.passages(ask.sources) if self.corpus and ask.sources else []

    def inquiry(self, ask: Ask) -> Inquiry:
        """Return the request as the input of a pipeline."""
        return Inquiry(ask.question, ask.passages, self.template, self.anchored, ask.max_tokens)

    def search(self, vectors: Sequence[Vector], most: int, ticket: Ticket | None = None) -> tuple[Passages, ...]:
        """Return at most `most` relevant passages for each vector, in the order of the vectors, nearest passage first.
        With a `ticket`, the search for the first vector uses the clusters that the ticket has prefetched.
        """
        if self.corpus is None:
            return ((),) * len(vectors)
        settled = [ticket.search(vectors[0], most)] if ticket else []
        rankings = [*settled, *self.corpus.search_many(vectors[len(settled) :], most)]
        return tuple(
            tuple(passage for passage in ranking if passage.similarity >= self.relevance) for ranking in rankings
        )

    def provisional(self, vector: Vector, most: int, ticket: Ticket | None = None) -> Passages:
        """Return at most `most` relevant passages that `search` will probably find; none while it has read too few
        clusters.
        """
        if self.corpus is None:
            return ()
        nearest = ticket.provisional(most) if ticket else self.corpus.provisional(vector, most)
        return tuple(passage for passage in nearest if passage.similarity >= self.relevance)

    def vectors(self, inquiry: Inquiry, step: LookUp) -> Sequence[Vector]:
        """Return the vectors to search for, one for each query of a look-up step."""
        if not step.anchored:
            return list(self.embedder.embed(step.queries))
        question, *written = self.embedder.embed([inquiry.question, *step.queries])
        sums = np.stack(written) + question
        return list(sums / np.linalg.norm(sums, axis=1, keepdims=True).clip(_LEAST_LENGTH))

    def draft_job(self, ask: Ask, step: Write) -> Job:
        """Return the engine job for a text that a pipeline wants written."""
        prompt = step.prompt.joined()
        return Job(
            (self._row(prompt.head, prompt.passages[0], prompt.tail),),
            (0.0,),
            _sampling(ask.sampling) if step.answers else SamplingSettings(),
            len(step.accepted) + step.most,
            step.accepted,
            stops=step.stops,
            probabilities=step.probabilities,
        )

    def job(self, ask: Ask, begin: Ask | Start, passages: Sequence[PublicPassage], said: Sequence[int] = ()) -> Job:
        """Return the engine job for the whole answer or, if the message `begin` contains an accepted beginning, for the
        rest.

        The passages, the best first, are divided into rows of about equal size, or one row per passage if there are
        fewer passages. A row is weighted by the log-sum-exp of its passages' similarities. `said` are the answer's
        tokens that the device has received since. Where the model alone answers, the question is the prompt. If the
        engine can never hold the rows of an answer that is not joint, there is one row.
        """
        job = self._job(ask, begin, passages, said, self._rows(ask, len(passages)))
        if ask.ahead or job.cells <= self.engine.info.context:
            return job
        return self._job(ask, begin, passages, said, 1)

    def _rows(self, ask: Ask, passages: int) -> int:
        """Return into how many rows (prompts) the passages are divided: for a joint answer the number in its request,
        else by `in_rows`.
        """
        if ask.ahead or not self.in_rows:
            return ask.rows
        return min(max(passages, 1), self.engine.info.sequences)

    def _job(
        self, ask: Ask, begin: Ask | Start, passages: Sequence[PublicPassage], said: Sequence[int], rows: int
    ) -> Job:
        if ask.model_only:
            prompt = turn(ask.question, self.template).joined()
        else:
            prompt = public_prompt(ask.question, passages, self.template, rows)
        log_weights = row_weights(row_similarities([passage.similarity for passage in passages], rows))
        accepted = begin.accepted or tuple(self.engine.tokenize(begin.accepted_text))
        # Text that the device hands over does not count towards its `max_tokens`, because its tokens are different.
        longer = len(accepted) - len(begin.accepted)
        return Job(
            tuple(self._row(prompt.head, row, prompt.tail) for row in prompt.passages),
            tuple(log_weights.tolist()),
            _sampling(ask.sampling),
            ask.max_tokens + longer,
            (*accepted, *said),
            rule=ask.rule if ask.ahead else None,
            ahead=ask.ahead,
        )

    def beginnings(self, ask: Ask, passages: Sequence[PublicPassage]) -> tuple[Segments, ...]:
        """Return the beginnings of a job's rows that can be prefilled before all its passages are known: `passages` are
        the best of them. The last segment of each row, the question, is only a placeholder.
        """
        each = public_prompt(ask.question, passages, self.template, len(passages))
        rows = (
            [place for place in row if place < len(passages)]
            for row in divided(range(ask.passages), self._rows(ask, ask.passages))
        )
        return tuple(
            self._row(each.head, [segment for place in row for segment in each.passages[place]], each.tail)
            for row in rows
            if row
        )

    def _row(self, head: Sequence[Segment], passages: Sequence[Segment], tail: Sequence[Segment]) -> Segments:
        return _row(self.engine, head, passages, tail)

    def count(self, passages: Sequence[PublicPassage]) -> None:
        """Count an answer that is written from the given passages; `index states` computes the states of the most used
        ones.
        """
        if self.uses and passages:
            try:
                self.uses.count([passage.id for passage in passages])
            except (NotWritable, StoreFull) as error:
                log.warning("the uses of passages were not counted", extra={"detail": str(error)})


def instructions_and_passage(
    engine: Engine, template: ChatTemplate, passage: PublicPassage
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the tokens of the instructions and the tokens of the passage behind them.

    They are the same in the prompt of an answer from this passage alone and in the passage's own row of an answer from
    several.
    """
    prompt = public_prompt("", [passage], template)
    head, text, _ = _row(engine, prompt.head, prompt.passages[0], prompt.tail)
    return head, text


def _row(engine: Engine, head: Sequence[Segment], passages: Sequence[Segment], tail: Sequence[Segment]) -> Segments:
    parts = (head, *((passage,) for passage in passages), tail)
    return tuple(
        tuple(token for segment in part for token in engine.tokenize(segment.text, special=segment.special))
        for part in parts
        if part
    )


def _sampling(asked: Sampling) -> SamplingSettings:
    return SamplingSettings(
        temperature=asked.temperature,
        top_k=asked.top_k,
        top_p=asked.top_p,
        min_p=asked.min_p,
        repetition_penalty=asked.repetition_penalty,
        seed=asked.seed,
    )
