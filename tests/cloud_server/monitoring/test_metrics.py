"""The metrics for Prometheus: values that never decrease are exported as counters."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cloud_server.access.quota import Quota
from cloud_server.cli import status
from cloud_server.monitoring.load import Load
from cloud_server.monitoring.metrics import MOST_CLIENTS, Metrics
from cloud_server.settings import Limits
from tests.companion import Phone, Serve
from tests.faults import DANUBE, free_port, until


def figures(text: str) -> dict[tuple[str, str], float]:
    """Return the values in a metrics text, by metric name and access token's name."""
    families = text_string_to_metric_families(text)
    return {
        (sample.name, sample.labels.get("client", "")): sample.value for family in families for sample in family.samples
    }


def test_tokens_are_counters_and_status_shows_them(serve: Serve) -> None:
    port = free_port()
    served = serve(serve={"metrics_port": port})
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE)
    phone.until_ended(request)
    until(lambda: not served.server.generation.load.writing)
    families = list(text_string_to_metric_families(served.server.metrics.text().decode()))
    tokens = {family.name: family for family in families if family.name.endswith("_tokens")}
    assert {family.type for family in tokens.values()} == {"counter"}
    written = {name: family.samples[0] for name, family in tokens.items()}["jackdaw_written_tokens"]
    assert (written.name, written.value >= len(phone.text(request))) == ("jackdaw_written_tokens_total", True)
    ready, figures = status._read(f"127.0.0.1:{port}")
    assert ready
    assert figures["written_tokens"] == written.value
    assert set(figures) == set(status._SHOWN)


def test_what_a_token_is_used_for_the_process_takes_and_the_event_loop_lags(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token("anna-phone")).connects()
    Phone(served.url, served.token("idle")).connects()
    phone.until_ended(phone.asks(DANUBE))
    until(lambda: figures(served.server.metrics.text().decode())["jackdaw_event_loop_lag_seconds_count", ""] > 0)
    values = figures(served.server.metrics.text().decode())
    assert values["jackdaw_client_tokens_total", "anna-phone"] >= len(phone.text(1))
    assert values["jackdaw_client_searches_total", "anna-phone"] == 1
    assert values["jackdaw_client_tokens_total", "idle"] == 0
    assert values["jackdaw_client_connections", "idle"] == 1
    assert values["process_resident_memory_bytes", ""] > 1e6
    assert 0 < values["process_open_fds", ""] < values["process_max_fds", ""]


def test_status_shows_what_the_vectors_take(serve: Serve) -> None:
    port = free_port()
    served = serve(serve={"metrics_port": port})
    corpus = served.server.answering.corpus
    assert corpus
    use = corpus.vector_use()
    values = figures(served.server.metrics.text().decode())
    assert (
        0 < values["jackdaw_vectors_bytes", ""] == use.held < values["jackdaw_vectors_read_bytes_total", ""] == use.read
    )
    shown = status._read(f"127.0.0.1:{port}")[1]
    assert (shown["vectors_bytes"], shown["vectors_read_bytes"]) == (use.held, use.read)


def test_the_names_of_tokens_are_bounded() -> None:
    quotas = {f"phone {number}": Quota(Limits(), 0.0) for number in range(MOST_CLIENTS + 50)}
    for quota in quotas.values():
        quota.searched(0.0)
    values = figures(Metrics(Load, lambda: 0, lambda: quotas).text().decode())
    searches = {name: value for (family, name), value in values.items() if family == "jackdaw_client_searches_total"}
    assert (len(searches), searches["(others)"], searches["phone 0"]) == (MOST_CLIENTS + 1, 50, 1)


@pytest.mark.parametrize(
    ("host", "place"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("192.0.2.1", "192.0.2.1"), ("::1", "[::1]")]
)
def test_where_status_looks(host: str, place: str) -> None:
    assert status._reached(host) == place


def test_the_metrics_listen_where_the_setting_says(serve: Serve) -> None:
    port = free_port()
    serve(serve={"metrics_port": port, "metrics_host": "127.0.0.2"})
    assert status._read(f"127.0.0.1:{port}")[0] is None
    assert status._read(f"127.0.0.2:{port}")[0]
