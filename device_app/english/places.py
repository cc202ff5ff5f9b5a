"""Time zones by the names that people use: cities, countries with a single zone, and the zones' own names.

Pure data.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import tzdata

from device_app.english.terms import plain

_TZDATA: Final = Path(tzdata.__file__).parent
"""The folder of the time zone database. Its files are read directly: `available_timezones` opens each zone's file."""

_ZONES: Final = """
    America/New_York: washington, washington dc, boston, miami, philadelphia, atlanta, new york city, nyc
    America/New_York: eastern, est, edt, eastern standard, us eastern
    America/Chicago: houston, dallas, austin, central standard, us central, cst
    America/Denver: mountain, mountain standard, mst, us mountain
    America/Los_Angeles: la, san francisco, seattle, san diego, california, silicon valley, las vegas, portland
    America/Los_Angeles: pacific, pst, pdt, us pacific
    Europe/London: england, scotland, wales, uk, great britain, united kingdom, bst, british
    Europe/London: edinburgh, manchester, oxford, cambridge
    Europe/Berlin: munich, hamburg, frankfurt, cologne, germany, cet, cest, central european, mez
    Europe/Rome: trieste, milan, venice, naples, florence, turin, bologna
    Europe/Madrid: barcelona, spain
    Europe/Paris: lyon, marseille
    Europe/Zurich: geneva, basel, bern
    Europe/Oslo: bergen
    Europe/Helsinki: eet, eest
    Europe/Istanbul: ankara
    Europe/Moscow: st petersburg
    Europe/Lisbon: portugal
    Asia/Kolkata: mumbai, delhi, new delhi, bangalore, chennai, calcutta, bombay
    Asia/Shanghai: beijing, china, shenzhen, guangzhou
    Asia/Tokyo: osaka, kyoto, jst
    Asia/Dubai: abu dhabi
    Asia/Ho_Chi_Minh: saigon, hanoi
    Australia/Sydney: canberra, aest
    Pacific/Auckland: new zealand, wellington
    America/Sao_Paulo: rio, rio de janeiro
    America/Toronto: ottawa, montreal
    America/Vancouver: british columbia
    UTC: gmt, zulu, z, greenwich
    """


def zone(name: str) -> ZoneInfo | None:
    """Return the time zone of a place or of a zone's name; None if the place is unknown, or has several zones."""
    said = plain(name).replace(".", "").strip(" ,?!'")
    said = said.removesuffix(" time").removeprefix("the ").removesuffix("'s").strip()
    key = _by_name().get(said)
    return ZoneInfo(key) if key else None


@cache
def _by_name() -> dict[str, str]:
    by_name = {
        _city(key): key for key in sorted((_TZDATA / "zones").read_text("ascii").split(), key=_preferred) if "/" in key
    }
    by_name |= {code.lower(): code for code in ("UTC",)}
    by_name |= _countries()
    for line in _ZONES.strip().splitlines():
        key, _, names = line.strip().partition(": ")
        by_name |= dict.fromkeys(names.split(", "), key)
    return by_name


def _preferred(key: str) -> tuple[bool, str]:
    """Return a sort key that puts zones named by continent and city last: of zones with one name, the last is used."""
    return key.partition("/")[0] in (
        "Africa",
        "America",
        "Asia",
        "Australia",
        "Europe",
        "Pacific",
        "Atlantic",
        "Indian",
    ), key


def _city(key: str) -> str:
    return key.rpartition("/")[2].replace("_", " ").lower()


def _countries() -> dict[str, str]:
    """Return the countries with a single time zone, by name."""
    folder = _TZDATA / "zoneinfo"
    names = dict(_rows((folder / "iso3166.tab").read_text(encoding="utf-8")))
    zones: dict[str, list[str]] = {}
    for row in _rows((folder / "zone.tab").read_text(encoding="utf-8")):
        zones.setdefault(row[0], []).append(row[2])
    return {plain(names[code]): keys[0] for code, keys in zones.items() if len(keys) == 1 and code in names}


def _rows(table: str) -> list[list[str]]:
    return [line.split("\t") for line in table.splitlines() if line and not line.startswith("#")]
