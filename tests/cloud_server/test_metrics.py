"""What Prometheus reads: what only rises is a counter."""

from prometheus_client.parser import text_string_to_metric_families

from cloud_server.cli import status
from tests.companion import Phone, Serve
from tests.faults import DANUBE, free_port, until


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
    ready, figures = status._read(port)
    assert ready
    assert figures["written_tokens"] == written.value
    assert set(figures) == set(status._SHOWN)
