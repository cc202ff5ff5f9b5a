"""`jackdaw paths` shows where files are kept."""

import json
from typing import Any

from device_app.cli.paths import NAMES
from storage.paths import Paths


def test_every_place_is_shown_and_none_is_created(jackdaw: Any, paths: Paths) -> None:
    places = {name: str(getattr(paths, name)) for name in NAMES}
    assert json.loads(jackdaw("paths", "--json").out) == places
    assert all(place in jackdaw("paths").out for place in places.values())
    assert not paths.data.exists()
