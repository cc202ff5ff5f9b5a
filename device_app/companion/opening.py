"""Builds the parts of this device that deal with a companion server: the link and the public questions."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from device_app.companion.link.resting import Resting
from shared.protocol.messages import VERSIONS, Hello

if TYPE_CHECKING:
    from device_app.companion.dispatch.public import PublicQuestions
    from device_app.companion.link.credentials import Credentials
    from device_app.companion.link.link import Link
    from device_app.device import Device
    from device_app.inference.local import LocalSource
    from device_app.system.conditions import Conditions


def open_link(device: Device, credentials: Credentials) -> Link:
    """Open a link to this server, which the caller closes. Loads the model. Raises WeightsError."""
    from device_app.companion.link.link import Link

    vocabulary = device.begin_loading().result().engine.vocabulary_hash()
    hello = Hello(VERSIONS, vocabulary, device.embedder.fingerprint, f"jackdaw {version('jackdaw')}")
    return Link(credentials, hello, Resting(credentials, device.paths.link_rest))


def public_questions(device: Device, credentials: Credentials) -> PublicQuestions:
    """Return the handler of public questions for this server, which the caller closes.

    Does not connect, and loads no model.
    """
    from device_app.companion.dispatch.cost import ServerPrice
    from device_app.companion.dispatch.day import DayLimits, Days
    from device_app.companion.dispatch.memory import Memory
    from device_app.companion.dispatch.public import Prices, PublicQuestions
    from device_app.companion.dispatch.situation import HeatLimits
    from device_app.companion.link.credentials import LOOPBACK
    from device_app.system import network
    from device_app.system.conditions import Latest, Sensors

    own, daemon = device.settings.link, device.settings.daemon
    sensors = Sensors()
    is_here = urlsplit(credentials.url).hostname in LOOPBACK  # what stays on this machine is never metered
    metered = {"yes": True, "no": False, "auto": False if is_here else None}[own.metered]

    def look() -> Conditions:
        now = sensors.power()
        return replace(now, metered=network.metered()) if metered is None else now

    conditions = Latest(look)

    def connect() -> Link:
        conditions.begin()  # a phone's sensors take seconds: they are read while the model loads
        return open_link(device, credentials)

    def source() -> LocalSource:
        conditions.begin()
        return device.begin_loading().result()

    return PublicQuestions(
        connect=connect,
        source=source,
        prices=Prices(
            server=ServerPrice(own.price_prompt, own.price_answer),
            joules_per_gflop=daemon.joules_per_gflop,
            per_joule=own.price_kwh / 3.6e6,
            spare=None if own.spare < 0 else own.spare,
            reading_rate=own.reading_rate,
            steady=own.steady,
            limits=HeatLimits(daemon.battery_temperature, daemon.temperature),
            day=DayLimits(own.day_joules, own.day_money),
            per_megabyte=own.price_mb,
            metered=metered,
            policy=own.policy,
        ),
        memory=Memory(device.paths.dispatch),
        battery=sensors.charge,
        conditions=conditions,
        days=Days(device.paths.dispatch_spent),
    )
