"""Formats settings and models: a value's origin, when changes take effect, a model's resources. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from device_app.settings.change import spelled
from device_app.tui.wording import safe, safe_line
from shared.settings import Layer

if TYPE_CHECKING:
    from device_app.tui.edge.preferences import Fetch, Model, Preference, Shelf

_EFFECTS = {
    "model": "Takes effect immediately: the model is loaded again.",
    "embedder": "Takes effect immediately: the embedder is loaded again.",
    "answer": "Takes effect with the next question.",
    "knowledge": "Takes effect for files read from now on.",
    "cache": "Takes effect immediately.",
    "daemon": "Takes effect in the running daemon.",
    "link": "Takes effect with the next question.",
    "app": "Takes effect immediately.",
    "phone": "Takes effect with the next `jackdaw ask --voice`.",
    "app.mouse": "Takes effect when Jackdaw starts again.",
}


def effect(key: str) -> str:
    """Return when a change of the setting takes effect."""
    return _EFFECTS.get(key) or _EFFECTS[key.partition(".")[0]]


def origin(preference: Preference) -> str:
    """Return the origin of the value of a setting that can be changed here: the default or the person's file."""
    if preference.origin.layer is Layer.DEFAULT:
        return "the default"
    return f"from your file; the default is {spelled(preference.setting.default)}"


def fixed(preference: Preference) -> str:
    """Return why the setting cannot be changed here; "" if it can."""
    if preference.origin.layer <= Layer.FILE:
        return ""
    place = preference.origin.place
    return f"Set by the environment variable {place}. Unset that variable to change the setting here."


def row(preference: Preference, width: int) -> Content:
    """Return a setting's line in the list: its name, its value at the right, and a mark for a changed value."""
    name, value = preference.setting.key.partition(".")[2], safe_line(spelled(preference.value))
    changed = preference.origin.layer is not Layer.DEFAULT
    shown = Content(value).truncate(max(width - len(name) - 5, 4), ellipsis=True)
    gap = max(width - len(name) - shown.cell_length - 3, 1)
    mark = ("● ", "$accent") if changed else ("  ", "")
    return Content.assemble(mark, name, " " * gap, shown.stylize("$accent" if changed else "$quiet"))


def about(preference: Preference) -> Content:
    """Return all facts about a setting."""
    setting = preference.setting
    lines = [Content.assemble((setting.key, "$primary bold"), f"  {safe_line(spelled(preference.value))}")]
    if reason := fixed(preference):
        return Content("\n").join([*lines, Content(setting.description), Content.styled(reason, "$warning")])
    takes = f"Values: {setting.accepts}. {effect(setting.key)}"
    lines += [
        Content.styled(origin(preference), "$quiet"),
        Content(setting.description),
        Content.styled(takes, "$quiet"),
    ]
    return Content("\n").join(lines)


def megabytes(size: int) -> str:
    """Return a size in megabytes or gigabytes."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def title(model: Model, width: int) -> Content:
    """Return a model's line in the list of models."""
    state = (
        "in use" if model.used else {"present": "here", "missing": "not downloaded", "damaged": "damaged"}[model.state]
    )
    if unfit(model) and not model.used:
        state = "does not fit"
    style = "$success" if model.used else "$warning" if unfit(model) or model.state == "damaged" else "$quiet"
    mark = ("● ", "$success") if model.used else ("  ", "")
    name = Content(safe_line(model.name)).truncate(max(width - len(state) - 4, 8), ellipsis=True)
    gap = max(width - name.cell_length - len(state) - 3, 1)
    return Content.assemble(mark, name, " " * gap, (state, style))


def unfit(model: Model) -> str:
    """Return why the model does not fit this device now; "" if it does."""
    cast = model.forecast
    if not cast.fits_disk:
        return f"The disk is too full: the download needs {megabytes(cast.fetch)}, {megabytes(cast.free_disk)} is free."
    if not cast.fits_memory:
        needs, free = megabytes(cast.memory or 0), megabytes(cast.free_memory)
        return f"The memory is too small: the model needs {needs}, {free} is free."
    return ""


def takes(model: Model, shelf: Shelf) -> Content:
    """Return all facts about a model, with the resources that it takes."""
    cast = model.forecast
    lines = [Content.styled(safe_line(model.name), "$primary bold"), Content(safe(model.description))]
    if reason := unfit(model):
        lines.append(Content.styled(reason, "$warning"))
    lines.append(Content())
    lines += _memory(model)
    disk = f"{megabytes(cast.fetch)} to download" if cast.fetch else "nothing more"
    lines.append(_pair("Disk", f"{disk}; {megabytes(cast.free_disk)} free"))
    lines.append(_pair("Caches", f"hold {megabytes(shelf.held)} of {megabytes(shelf.limit)}"))
    lines.append(_pair("Licence", safe_line(model.licence)))
    if model.kind == "engine" and not model.used:
        lines += [
            Content(),
            Content.styled("Saved answers and states belong to one model. A new model starts with none.", "$quiet"),
        ]
    return Content("\n").join(lines)


def offer(model: Model, *, warned: bool) -> str:
    """Return what Enter does with a model; `warned`: the person was told that the model does not fit."""
    if model.used:
        return "in use"
    if not model.forecast.fits_disk:
        return "no room to download"
    verb = "uses it" if model.state == "present" else f"downloads {megabytes(model.size) if model.size else 'it'}"
    return f"Enter {verb}" + (" anyway" if unfit(model) and warned else "")


def progress(fetch: Fetch, width: int) -> Content:
    """Return a download's progress as a bar and a line."""
    share = fetch.done / fetch.total if fetch.total else 0.0
    full = round(share * width)
    bar = Content.assemble(("━" * full, "$accent"), ("━" * (width - full), "$border-blurred"))
    size = f"{share:.0%} · {megabytes(fetch.done)} of {megabytes(fetch.total)} · " if fetch.total else ""
    line = f"{size}{safe_line(fetch.name)}: {safe_line(fetch.doing)}"
    return Content("\n").join([bar, Content.styled(line, "$quiet")])


def _memory(model: Model) -> list[Content]:
    cast = model.forecast
    free = f"{megabytes(cast.free_memory)} free"
    if cast.weights is None:
        return [_pair("Memory", f"known after download; {free}")]
    lines = [_pair("Memory", f"about {megabytes(cast.weights + cast.attention)}; {free}")]
    if cast.attention:
        lines.append(_pair("", f"{megabytes(cast.weights)} of weights"))
        lines.append(_pair("", f"{megabytes(cast.attention)} for {cast.tokens:,} tokens"))
    return lines


def _pair(name: str, text: str) -> Content:
    return Content.assemble((f"{name:<9}", "$quiet"), text)
