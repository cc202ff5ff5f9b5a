"""Sets the limits of the caches, and clears the caches, for the command line and the app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from device_app.device import Device

Layer = Literal["qa", "kv"]


def set_limit(device: Device, environment: Mapping[str, str], layer: Layer, megabytes: float) -> int:
    """Write the limit of the answers (qa) or states (kv) to the settings file; return how many entries were evicted for
    it.

    The device uses the new limit at once, but an environment variable takes precedence over the file. Raises
    SettingError, StoreError, NotWritable.
    """
    from device_app.ahead.population import fill_again
    from device_app.settings import load
    from device_app.settings.change import set_value

    set_value(device.paths, f"cache.{layer}_mb", str(megabytes), "as given")
    device.go_on_under(load(device.paths, environment).settings.cache)
    if layer == "qa":
        return device.qa_bank.trim()
    if evicted := device.qkv_tree.trim():
        fill_again(device.counters)
    return evicted


def clear(device: Device, *, answers: bool, states: bool) -> tuple[int, int]:
    """Drop answers and abstracts, attention states, or both; return how many answers and states were dropped.

    Idle work fills the caches again. Raises NotWritable.
    """
    from device_app.ahead.daemon import forget_last
    from device_app.ahead.population import fill_again
    from device_app.ahead.prediction import predict_again
    from storage.abstracts import Abstracts

    dropped_answers = dropped_states = 0
    if answers:
        dropped_answers = device.qa_bank.clear()
        Abstracts(device.counters.database).clear()
        predict_again(device.counters)
    if states:
        dropped_states = device.qkv_tree.clear()
        fill_again(device.counters)
    forget_last(device.paths)
    return dropped_answers, dropped_states
