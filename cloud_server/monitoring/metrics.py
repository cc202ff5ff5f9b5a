"""The server's Prometheus metrics: counts and times, some by token name. They contain no questions and no addresses."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cloud_server.access.quota import Quota
from cloud_server.monitoring.load import Load, VectorUse

MOST_CLIENTS = 200
"""The most access tokens that get metrics of their own; they are the first ones used. The use of all other tokens is
summed. Each token adds a few time series.
"""

_OTHERS = "(others)"  # not a valid token name

_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one server. The functions `load`, `connections`, `quotas` (by token name) and `vectors` are called
    at each scrape.
    """

    def __init__(
        self,
        load: Callable[[], Load],
        connections: Callable[[], int],
        quotas: Callable[[], Mapping[str, Quota]] = lambda: MappingProxyType({}),
        vectors: Callable[[], VectorUse] = VectorUse,
    ) -> None:
        self.registry = CollectorRegistry()
        self.answers = self._count("jackdaw_answers", "Ended requests, by reason.", "reason")
        self.refused = self._count("jackdaw_refused", "Refused connections, by reason.", "reason")
        self.cut_slow = self._count("jackdaw_cut_slow", "Connections cut because their device read too slowly.")
        self.protocol_errors = self._count("jackdaw_protocol_errors", "Connections that broke the protocol.")
        self.first_token = self._seconds("jackdaw_first_token_seconds", "Seconds from a request to its first token.")
        self.promised = self._seconds("jackdaw_promised_wait_seconds", "Seconds of waiting time announced to requests.")
        self.search = self._seconds("jackdaw_search_seconds", "Seconds to retrieve a question's sources.")
        self.loop_lag = self._seconds("jackdaw_event_loop_lag_seconds", "Seconds by which the event loop was late.")
        self._gauge("jackdaw_connections", "Connected devices.", connections)
        self._gauge("jackdaw_writing", "Answers being generated now.", lambda: load().writing)
        self._gauge("jackdaw_waiting", "Requests waiting for the model.", lambda: load().waiting)
        self._gauge("jackdaw_vectors_bytes", "Bytes of the index's vectors in memory.", lambda: vectors().held)
        self.registry.register(_Reads(vectors))
        self.registry.register(_Tokens(load))
        self.registry.register(_Clients(quotas))
        ProcessCollector(registry=self.registry)  # memory, file descriptors and their limit, CPU time; on Linux only

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def _count(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(name, what, labels, registry=self.registry)

    def _seconds(self, name: str, what: str) -> Histogram:
        return Histogram(name, what, buckets=_SECONDS, registry=self.registry)

    def _gauge(self, name: str, what: str, read: Callable[[], float]) -> None:
        Gauge(name, what, registry=self.registry).set_function(read)


class _Reads(Collector):
    """A collector that exports the bytes read from the index as a counter."""

    def __init__(self, vectors: Callable[[], VectorUse]) -> None:
        self._vectors = vectors

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the metric for a scrape."""
        what = "Bytes of clusters read from the disk, for questions and ahead of them, since the index was opened."
        yield CounterMetricFamily("jackdaw_vectors_read_bytes", what, self._vectors().read)


class _Tokens(Collector):
    """A collector that exports the token counts of `Load` as counters."""

    def __init__(self, load: Callable[[], Load]) -> None:
        self._load = load

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the metrics for a scrape."""
        load = self._load()
        for name, what, count in (
            ("written", "Generated tokens.", load.written),
            ("prefilled", "Computed prompt tokens.", load.prefilled),
            ("joined", "Prompt tokens taken from the KV cache.", load.joined),
            ("provisional", "Prompt tokens computed for passages that a search will probably find.", load.provisional),
            ("drafted", "Tokens drafted for answers, and verified.", load.drafted),
            ("accepted", "Drafted tokens that became part of an answer.", load.accepted),
            ("dropped", "Tokens of probable passages that were computed, but used by no answer.", load.dropped),
        ):
            yield CounterMetricFamily(f"jackdaw_{name}_tokens", what, count)


class _Clients(Collector):
    """A collector that exports the use of each access token since the server started."""

    def __init__(self, quotas: Callable[[], Mapping[str, Quota]]) -> None:
        self._quotas = quotas

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics for a scrape."""
        tokens = CounterMetricFamily(
            "jackdaw_client_tokens", "Model tokens charged to an access token.", labels=["client"]
        )
        searches = CounterMetricFamily(
            "jackdaw_client_searches", "Searches made with an access token.", labels=["client"]
        )
        connected = GaugeMetricFamily(
            "jackdaw_client_connections", "Open connections of an access token.", labels=["client"]
        )
        for name, used in _by_name(self._quotas()):
            tokens.add_metric([name], used[0])
            searches.add_metric([name], used[1])
            connected.add_metric([name], used[2])
        yield from (tokens, searches, connected)


def _by_name(quotas: Mapping[str, Quota]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    used = {name: (quota.tokens_used, quota.searches_used, quota.connections) for name, quota in quotas.items()}
    yield from islice(used.items(), MOST_CLIENTS)
    if others := list(islice(used.values(), MOST_CLIENTS, None)):
        tokens, searches, connections = (sum(column) for column in zip(*others, strict=True))
        yield _OTHERS, (tokens, searches, connections)
