"""The first and the last line of the screen: title and model, then the status and the keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from time import monotonic

from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from device_app.tui.actions import Action, AppState, Place, hint_of, hints, key_of
from device_app.tui.link import Standing, words
from device_app.tui.wording import safe_line

_GAP = 2
ROOMY = 60
"""The width in columns from which on the footer shows the app's keys as well as the screen's own."""


class TitleBar(Widget):
    """The first line: the conversation on the left, and the model on the right if there is room."""

    talk: reactive[str] = reactive("")
    model: reactive[str] = reactive("")

    def render(self) -> Content:
        """Return the content of the title bar."""
        width = self.size.width
        name = Content.assemble(("jackdaw", "$primary bold"))
        talk = safe_line(self.talk)
        right = Content.styled(safe_line(self.model), "$quiet")
        room = width - name.cell_length - 3
        if room > right.cell_length + 20:
            room -= right.cell_length + 2
        else:
            right = Content("")
        left = Content.assemble(name, ("  " if talk else "", ""), Content(talk).truncate(max(room, 0), ellipsis=True))
        gap = width - left.cell_length - right.cell_length
        return Content.assemble(left, " " * max(gap, 0), right)


class StatusLine(Widget):
    """The last line: the current activity, then as many keys as fit."""

    doing: reactive[str] = reactive("")
    behind: reactive[str] = reactive("")
    """The background activity, which is shown in place of "ready"."""
    link: reactive[Standing] = reactive(Standing())
    """The state of the link to the companion server, which is shown before the activities."""
    states: reactive[frozenset[AppState]] = reactive(frozenset[AppState]())

    def __init__(self, place: Place = Place.CHAT) -> None:
        super().__init__()
        self._place = place
        self._counting: Timer | None = None

    def watch_link(self, link: Standing) -> None:
        """Redraw the line every second while it shows the seconds until the next connection attempt."""
        if self._counting:
            self._counting.stop()
        self._counting = self.set_interval(1.0, self.refresh) if link.retry_at is not None else None

    def render(self) -> Content:
        """Return the content of the status line."""
        width = self.size.width
        parts = [self.behind] if self.behind and self.doing == "ready" else [self.doing, self.behind]
        going = Content.styled(safe_line(" · ".join(filter(None, parts))), "$quiet")
        server = words(self.link, monotonic(), roomy=width >= ROOMY)
        doing = Content.styled(" · ", "$quiet").join(filter(None, (server, going))).truncate(width, ellipsis=True)
        own, apps = self._keys(self.states)
        room = width - doing.cell_length - 2
        # The screen's own keys come first; at least the first of them is shown.
        first = own[0].cell_length + _GAP if own else 0
        last = _fitting(apps, room - first) if width >= ROOMY else Content("")
        keys = _fitting(own, room - last.cell_length - _GAP if last else room)
        keys = _fitting([keys, last] if last else [keys, *apps], room)
        gap = width - keys.cell_length - doing.cell_length
        return Content.assemble(keys, " " * max(gap, 0), doing)

    def _keys(self, states: Collection[AppState]) -> tuple[list[Content], list[Content]]:
        """Return the labels of keys for the footer: those of the screen's own actions, and those of the app's."""
        own: list[Content] = []
        apps: list[Content] = []
        for action in hints(states, self._place):
            key = key_of(action, states, self._place, in_browser=self.app.is_web)
            (apps if action.place is Place.APP else own).append(self._key(action, key, hint_of(action, states)))
        return own, apps

    @staticmethod
    def _key(action: Action, key: str, hint: str) -> Content:
        hint = "" if key.startswith("/") and len(key) > 1 else f" {hint}"
        return Content.assemble((key, "$primary bold"), (hint, "$quiet")).stylize(
            Style.from_meta({"@click": action.call})
        )


def _fitting(parts: Sequence[Content], room: int) -> Content:
    """Return as many of the parts, from the first on, as fit into `room` columns together, joined with gaps."""
    keys = Content("")
    for part in parts:
        more = Content.assemble(keys, " " * _GAP if keys else "", part)
        if more.cell_length > room:
            break
        keys = more
    return keys
