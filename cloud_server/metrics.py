"""What Prometheus reads of the server. Counts and times alone: no name, no question."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from cloud_server.generation import Load

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one server. `load` and `connections` are read when somebody asks."""

    def __init__(self, load: Callable[[], Load], connections: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.answers = self._count("jackdaw_answers", "Requests that ended, by how.", "reason")
        self.refused = self._count("jackdaw_refused", "Connections refused, by why.", "reason")
        self.cut_slow = self._count("jackdaw_cut_slow", "Connections cut as their device did not read.")
        self.protocol_errors = self._count("jackdaw_protocol_errors", "Connections that broke the protocol.")
        self.first_token = self._seconds("jackdaw_first_token_seconds", "From a request to its first token.")
        self.promised = self._seconds("jackdaw_promised_wait_seconds", "The wait that requests were promised.")
        self.search = self._seconds("jackdaw_search_seconds", "What finding sources takes.")
        self.loop_lag = self._seconds("jackdaw_event_loop_lag_seconds", "By how much the event loop was late.")
        self._gauge("jackdaw_connections", "Devices connected.", connections)
        self._gauge("jackdaw_writing", "Answers being written.", lambda: load().writing)
        self._gauge("jackdaw_waiting", "Requests that wait for the engine.", lambda: load().waiting)
        self.registry.register(_Tokens(load))

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self.registry)

    def _count(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(name, what, labels, registry=self.registry)

    def _seconds(self, name: str, what: str) -> Histogram:
        return Histogram(name, what, buckets=_SECONDS, registry=self.registry)

    def _gauge(self, name: str, what: str, read: Callable[[], float]) -> None:
        Gauge(name, what, registry=self.registry).set_function(read)


class _Tokens(Collector):
    """What the generation has counted itself, as counters."""

    def __init__(self, load: Callable[[], Load]) -> None:
        self._load = load

    def collect(self) -> Iterator[CounterMetricFamily]:
        """What Prometheus asks for."""
        load = self._load()
        for name, what, count in (
            ("written", "Tokens written.", load.written),
            ("prefilled", "Tokens of prompts computed.", load.prefilled),
            ("joined", "Tokens of prompts whose states were kept.", load.joined),
        ):
            yield CounterMetricFamily(f"jackdaw_{name}_tokens", what, count)
