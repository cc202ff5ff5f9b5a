"""`jackdaw web` refuses addresses that other machines can reach, and prints an address that admits one browser."""

import importlib.util
import json
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

from device_app.cli import web


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--host", "192.168.1.4"), "can be reached from other devices.*--certificate and --key"),
        (("--host", "0.0.0.0"), "can be reached from other devices"),
        (("--host", "::"), "can be reached from other devices"),
        (("--host", "laptop.lan"), "can be reached from other devices"),
        (("--certificate", "a.pem"), "both --certificate and --key"),
        (("--key", "a.key"), "both --certificate and --key"),
        (("--host", "0.0.0.0", "--certificate", "a.pem", "--key", "a.key"), "the browser will use"),
        (("--certificate", "a.pem", "--key", "a.key"), "not a PEM certificate and its private key"),
        (("--port", "70000"), "0<=x<=65535"),
    ],
)
def test_what_would_be_unsafe_or_senseless_is_refused(jackdaw: Any, arguments: tuple[str, ...], expected: str) -> None:
    refused = jackdaw("web", *arguments)
    assert refused.code == 2
    assert re.search(expected, refused.err.replace("\n", " "))


def test_without_the_extra_its_name_is_told(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "find_spec", lambda _: None)
    text = jackdaw("web").err
    assert "scripts/install web" in text
    assert "pip install" not in text  # a package registry has another project of our name


@pytest.mark.skipif(not importlib.util.find_spec("textual_serve"), reason="needs the web extra")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_tells_the_address_and_serves_until_a_signal(number: int) -> None:
    code = "from device_app.cli import main; main()"
    started = [sys.executable, "-c", code, "web", "--port", "0", "--json"]
    with subprocess.Popen(started, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", url)
        process.send_signal(number)
        assert process.wait(30) == 0
