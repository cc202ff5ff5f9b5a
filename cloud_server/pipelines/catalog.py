"""The pipelines by name, and the choice of a pipeline for a request. No I/O."""

from collections.abc import Callable

from cloud_server.pipelines.flare import flare
from cloud_server.pipelines.rewriting import hyde, plain, subquestion
from cloud_server.pipelines.rounds import iter_retgen, iterative
from cloud_server.pipelines.self_rag import self_rag
from cloud_server.pipelines.steps import PipelineSteps
from shared.protocol import messages as m

PLAIN: m.Pipeline = "plain"

PIPELINES: dict[m.Pipeline, PipelineSteps] = {
    "plain": plain,
    "hyde": hyde,
    "subquestion": subquestion,
    "iterative": iterative,
    "iter_retgen": iter_retgen,
    "flare": flare,
    "self_rag": self_rag,
}


def choose(ask: m.Ask, version: int, preferred: Callable[[], m.Pipeline]) -> m.Pipeline:
    """Return the pipeline that the device names or, if it names none, the server's preferred pipeline.

    Plain is used if the request wants no passages or names its sources, continues an answer, is for a joint answer, or
    comes in protocol version 1, which has no rounds. Plain is also used if only passages are wanted and no pipeline is
    named, because the device waits only briefly for passages.
    """
    goes_on = bool(ask.accepted or ask.accepted_text)
    if version < 2 or ask.ahead or ask.sources or not ask.passages or goes_on:
        return PLAIN
    return ask.pipeline or (preferred() if ask.generate else PLAIN)
