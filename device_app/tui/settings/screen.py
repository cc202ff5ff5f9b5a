"""The settings screen: all settings by section; typing filters them, Enter edits the highlighted one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from device_app.settings import SECTIONS
from device_app.settings.change import spelled
from device_app.tui.actions import AppState, Place
from device_app.tui.area import AreaScreen
from device_app.tui.settings.wording import about, effect, fixed, row
from device_app.tui.wording import safe
from shared.errors import JackdawError, NothingFound

if TYPE_CHECKING:
    from device_app.tui.edge.preferences import Preference, Preferences

Changed = Callable[[str], Awaitable[None]]


class Filter(Input):
    """The filter field; up and down move in the list below, Enter edits."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("up", "screen.move(-1)", show=False),
        Binding("down", "screen.move(1)", show=False),
        Binding("pageup", "screen.move(-8)", show=False),
        Binding("pagedown", "screen.move(8)", show=False),
    ]


class Editor(Input):
    """The input field with a setting's value; up and down step through a fixed set of choices."""

    BINDINGS = [  # noqa: RUF012 (as Textual declares it)
        Binding("up", "step(-1)", show=False),
        Binding("down", "step(1)", show=False),
    ]
    choices: tuple[str, ...] = ()

    def action_step(self, by: int) -> None:
        """Show the next or previous choice."""
        if self.choices:
            place = self.choices.index(self.value) if self.value in self.choices else 0
            self.value = self.choices[(place + by) % len(self.choices)]
            self.cursor_position = len(self.value)


class SettingsScreen(AreaScreen):
    """The settings screen. `changed` is awaited with the key of a setting that was written."""

    PLACE = Place.SETTINGS

    def __init__(self, preferences: Preferences, changed: Changed) -> None:
        super().__init__()
        self._preferences = preferences
        self._changed = changed
        self._all: Sequence[Preference] = ()
        self._editing: Preference | None = None
        self._filter = Filter(placeholder="Type to filter", compact=True, id="filter")
        self._list = OptionList(markup=False, compact=True, id="settings")
        self._list.can_focus = False
        self._about = Static(markup=False, id="about")
        self._editor = Editor(compact=True, id="editor")
        self._error = Static(markup=False, id="error")

    def body(self) -> ComposeResult:
        """Yield the filter, the list, and the highlighted setting with its editor."""
        yield self._filter
        with Container(id="sides"):
            yield self._list
            with Vertical(id="detail"):
                yield self._about
                yield self._editor
                yield self._error

    def on_mount(self) -> None:
        """Read all settings and their values."""
        self._filter.focus()
        self._leave_edit()
        self.run_worker(self.reload())

    def on_resize(self) -> None:
        """Draw the list again for the new width."""
        self.call_after_refresh(self._show)

    async def reload(self) -> None:
        """Read the value of every setting again."""
        try:
            self._all = await self._preferences.all()
        except JackdawError as error:
            self._about.update(Content.styled(safe(str(error)), "$error"))
            return
        self._show()

    def filter(self, words: str) -> None:
        """Show only the settings that contain these words."""
        self._filter.value = words

    def states(self) -> frozenset[AppState]:
        """Return no app states: in particular, letters do not act as keys, but go to the filter."""
        return frozenset()

    # The list

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self._leave_edit()
        if preference := self._chosen():
            self._about.update(about(preference))

    @on(OptionList.OptionSelected)
    @on(Input.Submitted, "#filter")
    def _entered(self) -> None:
        if preference := self._chosen():
            self._edit(preference)

    def action_move(self, by: int) -> None:
        """Move up or down the list, skipping the names of sections."""
        for _ in range(abs(by)):
            (self._list.action_cursor_up if by < 0 else self._list.action_cursor_down)()

    def _show(self) -> None:
        words = self._filter.value.casefold().split()
        chosen = self._chosen()
        width = max(self._list.scrollable_content_region.width, 20)
        options: list[Option] = []
        section = ""
        for preference in self._all:
            searched = f"{preference.setting.key} {preference.setting.description}".casefold()
            if not all(word in searched for word in words):
                continue
            if (starts := preference.setting.key.partition(".")[0]) != section:
                section = starts
                heading = Content.assemble((section, "$primary bold"), (f"  {SECTIONS[section]}", "$quiet"))
                options.append(Option(heading.truncate(width - 2, ellipsis=True), disabled=True))
            options.append(Option(row(preference, width), id=preference.setting.key))
        self._list.set_options(options)
        if options:
            ids = [option.id for option in options]
            self._list.highlighted = ids.index(chosen.setting.key) if chosen and chosen.setting.key in ids else 1
            self._moved()
        elif self._all:
            self._about.update(f"No setting contains “{safe(self._filter.value)}”. Esc clears the filter.")

    def _chosen(self) -> Preference | None:
        option = self._list.highlighted_option
        return next((preference for preference in self._all if option and preference.setting.key == option.id), None)

    # Changing a setting

    def _edit(self, preference: Preference) -> None:
        if fixed(preference):
            self.status.doing = "set by the environment"
            return
        if preference.setting.key in ("model.name", "embedder.name"):
            self.app.call_later(self.app.run_action, "model")  # the models screen downloads the model if needed
            return
        self._editing = preference
        self._editor.choices = preference.setting.choices
        self._editor.value = spelled(preference.value)
        self._editor.display = True
        self.add_class("-editing")
        self._editor.focus()
        self._announce("")
        choose = "Up and Down choose · " if preference.setting.choices else ""
        self.status.doing = f"{choose}Enter saves · Esc cancels"

    @on(Input.Submitted, "#editor")
    def _submitted(self, event: Input.Submitted) -> None:
        if self._editing:
            key = self._editing.setting.key
            self.carry_out(self._write, key, partial(self._preferences.set, key, event.value))

    def action_reset(self) -> None:
        """Reset the highlighted setting to its default."""
        if preference := self._chosen():
            if fixed(preference):
                self.status.doing = "set by the environment"
            else:
                self.carry_out(
                    self._write, preference.setting.key, partial(self._preferences.unset, preference.setting.key)
                )

    async def _write(self, key: str, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except NothingFound:
            self._announce("The setting has its default already.")
            return
        except JackdawError as error:
            self._announce(safe(str(error)))
            return
        await self._changed(key)
        if self.is_attached:
            self._leave_edit()
            await self.reload()
            self.status.doing = effect(key)

    def _leave_edit(self) -> None:
        if self._editing:
            self._filter.focus()
        self._editing = None
        self._editor.display = False
        self.remove_class("-editing")
        self._announce("")
        self.status.doing = "Enter edits · Esc back"

    def _announce(self, problem: str) -> None:
        self._error.update(problem)
        self._error.display = bool(problem)

    def action_back(self) -> None:
        """Leave the editor, then the filter, then the screen."""
        if self._editing:
            self._leave_edit()
        elif self._filter.value:
            self._filter.value = ""
        else:
            super().action_back()
