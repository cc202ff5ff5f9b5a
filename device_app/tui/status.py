"""The first and the last line of the screen: what this is, how things stand, which keys do what."""

from __future__ import annotations

from collections.abc import Collection

from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from device_app.tui.actions import Action, Place, State, hints, key_of
from device_app.tui.wording import safe_line


class TitleBar(Widget):
    """The conversation on the left, the model on the right where there is room."""

    talk: reactive[str] = reactive("")
    model: reactive[str] = reactive("")

    def render(self) -> Content:
        """One line."""
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
    """What is going on, then as many keys as there is room for."""

    doing: reactive[str] = reactive("")
    behind: reactive[str] = reactive("")
    """What goes on behind that; it stands in the place of "ready"."""
    states: reactive[frozenset[State]] = reactive(frozenset[State]())

    def __init__(self, place: Place = Place.CHAT) -> None:
        super().__init__()
        self._place = place

    def render(self) -> Content:
        """One line."""
        width = self.size.width
        told = [self.behind] if self.behind and self.doing == "ready" else [self.doing, self.behind]
        doing = Content.styled(safe_line(" · ".join(filter(None, told))), "$quiet").truncate(width, ellipsis=True)
        keys = Content("")
        for part in self._keys(self.states):
            more = Content.assemble(keys, "  " if keys else "", part)
            if more.cell_length + doing.cell_length + 2 > width:
                break
            keys = more
        gap = width - keys.cell_length - doing.cell_length
        return Content.assemble(keys, " " * max(gap, 0), doing)

    def _keys(self, states: Collection[State]) -> list[Content]:
        return [
            self._key(action, key_of(action, states, self._place, in_browser=self.app.is_web))
            for action in hints(states, self._place)
        ]

    @staticmethod
    def _key(action: Action, key: str) -> Content:
        hint = "" if key.startswith("/") and len(key) > 1 else f" {action.hint}"
        return Content.assemble((key, "$primary bold"), (hint, "$quiet")).stylize(
            Style.from_meta({"@click": action.call})
        )
