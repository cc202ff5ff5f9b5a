"""The pipelines by name, and which of them answers a request. Pure."""

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
    """The pipeline that the device names or, where it names none, the server's preferred one.

    Plain where there is nothing to look up for, where both sides write, where an answer that is under way comes along,
    where passages alone are asked for, which the device waits for briefly, and for a device that could not be told of
    rounds.
    """
    goes_on = bool(ask.accepted or ask.accepted_text)
    if version < 2 or ask.ahead or ask.sources or not ask.passages or goes_on:
        return PLAIN
    return ask.pipeline or (preferred() if ask.generate else PLAIN)
