"""Many of the service beside each other, on one machine or a cluster: replicas of Ray Serve behind its proxy.

A device's connection stays with one replica, and so does its session and every token of its answers. Replicas know
nothing of each other: limits count in each, and who comes back to another one goes on from what it has.
"""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import ray
from ray import serve

from cloud_server.scale.asgi import Application
from cloud_server.serving.service import Service
from cloud_server.settings import Serve
from shared.errors import EngineError
from storage.paths import write_private

NAME = "jackdaw"

_STORE = 100_000_000
"""Bytes of shared memory, of which nothing here makes use; Ray takes no less."""

_LOOK_S = 2.0
"""How often it is looked whether a replica can go on. Where it cannot three times in a row, Ray starts another one."""

_QUIET = {"log_level": "WARNING", "enable_access_log": False}
"""What Ray Serve logs; replicas log for themselves."""


class Replica:
    """One of them, in a process of its own."""

    def __init__(self, make: Callable[[], Service]) -> None:
        self._service = make()

    def __serve_build_asgi_app__(self) -> Application:
        """What Ray serves, once the model is loaded."""
        return Application(self._service)

    def check_health(self) -> None:
        """Raises RuntimeError where a part of it has ended: Ray starts another one then."""
        if self._service.lost or self._service.stuck:
            raise RuntimeError(f"{self._service.lost or 'the generation'} has ended")


@contextmanager
def running(own: Serve, replicas: int, threads: int, devices: int, make: Callable[[], Service]) -> Iterator[None]:
    """Serve with so many replicas, each of `threads` cores, from entry to exit; `make` is called in each.

    Joins the cluster that RAY_ADDRESS names, or makes one of this machine alone.
    """
    with _cluster(replicas * threads):
        serve.start(
            proxy_location="EveryNode",
            logging_config=_QUIET,
            http_options={
                "host": own.host,
                "port": own.port,
                "ssl_certfile": own.certificate or None,
                "ssl_keyfile": own.key or own.certificate or None,
            },
        )
        deployment = serve.deployment(
            serve.ingress()(Replica),
            name=NAME,
            num_replicas=replicas,
            max_ongoing_requests=devices,
            graceful_shutdown_timeout_s=own.drain_s,
            health_check_period_s=_LOOK_S,
            logging_config=_QUIET,
            ray_actor_options={"num_cpus": threads},
        )
        try:
            try:
                serve.run(deployment.bind(make), name=NAME, route_prefix="/")
            except RuntimeError as error:
                raise EngineError("The replicas do not start. What they said stands above.") from error
            yield
        finally:
            serve.delete(NAME)


@contextmanager
def _cluster(cores: int) -> Iterator[None]:
    if os.environ.get("RAY_ADDRESS"):
        ray.init(namespace=NAME)
        try:
            yield
        finally:
            ray.shutdown()
        return
    with tempfile.TemporaryDirectory(prefix="jackdaw-") as folder, _token(folder):
        ray.init(
            "local",
            namespace=NAME,
            num_cpus=cores + 1,
            num_gpus=0,
            object_store_memory=_STORE,
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
        )
        try:
            yield
        finally:
            serve.shutdown()
            ray.shutdown()


@contextmanager
def _token(folder: str) -> Iterator[None]:
    """What the cluster's parts know each other by, in a file there, and not in the person's home, as Ray would."""
    if os.environ.get("RAY_AUTH_TOKEN_PATH"):
        yield
        return
    token = Path(folder) / "token"
    write_private(token, secrets.token_hex(32))
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(token)
    try:
        yield
    finally:
        del os.environ["RAY_AUTH_TOKEN_PATH"]
