"""Several replicas of the service on one machine or a cluster, run by Ray Serve behind its proxy.

A device's connection, session and answers stay with one replica. Replicas do not share state: limits count per replica,
and a device that reconnects to another replica continues from the state that the device itself holds.
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
from storage.private import write_private

NAME = "jackdaw"

_STORE = 100_000_000
"""The bytes of Ray's shared-memory object store, which is not used here: the least that Ray accepts."""

_LOOK_S = 2.0
"""Seconds between two health checks of a replica. Ray replaces a replica after three failures in a row."""

_QUIET = {"log_level": "WARNING", "enable_access_log": False}
"""Logging options of Ray Serve; replicas write their own logs."""


class Replica:
    """A replica of the service, in a process of its own."""

    def __init__(self, make: Callable[[], Service]) -> None:
        self._service = make()

    def __serve_build_asgi_app__(self) -> Application:
        """Return the application for Ray to serve, once the model is loaded."""
        return Application(self._service)

    def check_health(self) -> None:
        """Raise RuntimeError if a part of the service has failed, so that Ray replaces this replica."""
        if self._service.lost or self._service.stuck:
            raise RuntimeError(f"{self._service.lost or 'the generation'} has ended")


@contextmanager
def running(own: Serve, replicas: int, threads: int, devices: int, make: Callable[[], Service]) -> Iterator[None]:
    """Serve with `replicas` replicas of `threads` cores each while the block runs; each replica calls `make` to build
    its service, and has at most `devices` connections. `own` are the settings of addresses, TLS and shutdown.

    Joins the cluster that RAY_ADDRESS names, or starts one on this machine alone.
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
                raise EngineError("The replicas did not start. See their log lines above.") from error
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
    """Keep the cluster's authentication token in a file in `folder`, not in the user's home as Ray does by default."""
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
