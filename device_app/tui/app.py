"""The app: its themes, its screens, and the actions that work on all screens. Uses no model and no database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.css.query import QueryError
from textual.filter import LineFilter
from textual.message import Message
from textual.reactive import reactive
from textual.widget import MountError

from device_app import settings
from device_app.commands.opening import MakeDevice, opened
from device_app.system.phone import is_phone
from device_app.tui import messages
from device_app.tui.actions import ACTIONS, BY_ID, Action, AppState, Place, available
from device_app.tui.area import AreaScreen
from device_app.tui.cache.suggestions import Suggestions
from device_app.tui.chat.screen import ChatScreen
from device_app.tui.choosing import ChoosingApp
from device_app.tui.edge.parts import Parts
from device_app.tui.harmless import Harmless
from device_app.tui.knowledge.reading import Phase, Reading
from device_app.tui.sizes import BY_HEIGHT, BY_WIDTH
from device_app.tui.themes import THEMES
from device_app.tui.wording import safe
from shared.errors import UsageError

_HARMLESS = Harmless()


class JackdawApp(ChoosingApp):
    """The terminal app for one user, built with Textual."""

    TITLE = "Jackdaw"
    CSS_PATH: ClassVar = ["jackdaw.tcss"]
    COMMANDS: ClassVar = {lambda: _palette()}  # noqa: PLW0108  (defined below)
    HORIZONTAL_BREAKPOINTS = BY_WIDTH
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.key, action.id, action.title, show=False, priority=True)
        for action in ACTIONS
        if action.key and action.place is Place.APP
    ]

    reading: reactive[Reading] = reactive(Reading())
    """The progress of reading files, which widgets watch."""

    def __init__(
        self,
        environment: Mapping[str, str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        look: settings.App = settings.App(),  # noqa: B008  (frozen)
        make: MakeDevice | None = None,
    ) -> None:
        open_device = partial(opened, environment, make)
        parts = Parts(environment, open_device, self._post, self._post_own, lambda: self._chat.answering)
        super().__init__(parts, environment)
        for theme in THEMES:
            self.register_theme(theme)
        self._dress(look)
        self._clock = clock
        self.is_swiped = is_phone(environment) and not look.mouse
        """Whether the terminal sends the keys Up and Down for a swipe."""
        self._chat = ChatScreen(self.parts.answers, self.parts.records, self._suggest, clock)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters that every drawn line passes on its way to the terminal."""
        return [*super().get_line_filters(), _HARMLESS]

    def copy_to_clipboard(self, text: str) -> None:
        """Copy the text without control characters, because it may be pasted into a shell."""
        super().copy_to_clipboard(safe(text))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return values for variables of the app's style sheet that foreign themes do not define."""
        return {"quiet": "#8f9bac"}

    def refresh_css(self, animate: bool = True) -> None:
        """Update the colours. Before the first screen, only store them, so that the style sheet is parsed once."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    async def on_event(self, event: events.Event) -> None:
        """Remove control characters from pasted text, and report keys typed in the composer.

        Background work pauses for these keys.
        """
        if isinstance(event, events.Paste):
            event.text = safe(event.text)
        if isinstance(event, events.Key) and event.is_printable and self.focused is self._chat.composer:
            self.parts.answers.typed()
        await super().on_event(event)

    def get_default_screen(self) -> ChatScreen:
        """Return the chat, which is shown from the first frame on."""
        return self._chat

    def on_mount(self) -> None:
        """Repaint after the app was suspended, as the shell has painted over the screen."""
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    def _handle_exception(self, error: Exception) -> None:
        """Ignore errors about missing widgets while the app ends: a screen removed
        during its construction lacks some.
        """
        if self.return_code is None or not isinstance(error, (QueryError, MountError)):
            super()._handle_exception(error)

    def on_unmount(self) -> None:
        """Stop the app's threads; a running model stops after its current batch."""
        self.parts.close()

    def available(self) -> list[Action]:
        """Return the actions that are possible now, on this screen or on a screen that they would open."""
        area = next((screen for screen in reversed(self.screen_stack) if isinstance(screen, AreaScreen)), None)
        states = self._chat.states() | (area.status.states if area else frozenset())
        states |= (
            {AppState.INGESTING} if self.reading.goes_on else {AppState.PAUSED} if self.reading.stands_still else set()
        )
        return [action for action in ACTIONS if available(action, states)]

    async def perform(self, action_id: str, given: str = "") -> None:
        """Run an action that the person typed or chose, after opening its screen."""
        action = BY_ID[action_id]
        if action.place in (Place.APP, Place.CHAT):
            if action.place is Place.CHAT:
                while self.screen is not self._chat:
                    self.pop_screen()
            await self._chat.action_perform(action_id, given)
            return
        screen = await self.open_area(action.place)
        await self.run_action(("", action.id, (given,) if action.takes else ()), screen)

    async def open_area(self, place: Place) -> AreaScreen:
        """Show the screen for a `Place`, such as the settings, in place of any other screens above the chat."""
        while self.screen is not self._chat:
            if isinstance(self.screen, AreaScreen) and self.screen.PLACE is place:
                return self.screen
            self.pop_screen()
        screen = self._area(place)
        await self.push_screen(screen)
        return screen

    def _area(self, place: Place) -> AreaScreen:
        """Return a new screen for a `Place`, such as the settings; its module is imported only then."""
        if place is Place.KNOWLEDGE:
            from device_app.tui.knowledge.screen import KnowledgeScreen

            return KnowledgeScreen(self.parts.known, self.parts.reader, self._clock, self.environment)
        if place is Place.SETTINGS:
            from device_app.tui.settings.screen import SettingsScreen

            return SettingsScreen(self.parts.preferences, self.setting_changed)
        if place is Place.MODELS:
            from device_app.tui.settings.models import ModelsScreen

            return ModelsScreen(self.parts.preferences, self._begin_use)
        if place is Place.CACHE:
            from device_app.tui.cache.screen import CacheScreen

            return CacheScreen(self.parts.caches, self._clock)
        if place is Place.SEARCH:
            from device_app.tui.search.screen import SearchScreen

            return SearchScreen(self.parts.searches, self.parts.records, self._clock, self.environment)
        raise AssertionError(f"there is no screen for {place}")

    async def action_knowledge(self) -> None:
        """Open the knowledge screen."""
        await self.open_area(Place.KNOWLEDGE)

    async def action_search(self, words: str = "") -> None:
        """Open the search screen, with these words in its field."""
        screen = await self.open_area(Place.SEARCH)
        screen.begin(words)  # type: ignore[attr-defined]

    async def action_add(self, typed: str = "") -> None:
        """Read a file or folder; without a path, show the field for one."""
        if not typed:
            screen = await self.open_area(Place.KNOWLEDGE)
            screen.call_after_refresh(screen.type_path)  # type: ignore[attr-defined]
        else:
            self.run_worker(self._add(typed))

    async def _add(self, typed: str) -> None:
        if not await self.add(typed):
            self._chat.composer.begin(f"/add {typed}")
        elif not self._chat.is_first_run:
            await self.open_area(Place.KNOWLEDGE)

    async def add(self, typed: str) -> bool:
        """Start to read the file or folder at a typed path and return True, or show why that is impossible."""
        from device_app.tui.edge import places

        try:
            path = await asyncio.to_thread(places.checked, typed)
        except UsageError as error:
            self.notify(safe(str(error)), severity="warning", markup=False, timeout=6)
            return False
        self.parts.reader.read([path])
        return True

    @on(messages.Read)
    def _read(self, event: messages.Read) -> None:
        self.reading = event.reading

    @on(messages.Ready)
    def _models_are_here(self) -> None:
        if self.reading.phase is Phase.WAITING:
            self.parts.reader.resume()

    async def action_cache(self) -> None:
        """Open the cache screen."""
        await self.open_area(Place.CACHE)

    @on(Suggestions.Chosen)
    async def _suggested(self, event: Suggestions.Chosen) -> None:
        """Ask the suggested question in a new conversation: as a follow-up, it would not get its prepared answer."""
        while self.screen is not self._chat:
            self.pop_screen()
        await self._chat.ask_in_new_conversation(event.question)

    async def _suggest(self) -> Sequence[str]:
        return await self.parts.caches.suggestions(self._clock().astimezone())

    def action_help(self) -> None:
        """Show every command and key."""
        from device_app.tui.help import HelpScreen

        area = next((screen for screen in reversed(self.screen_stack) if isinstance(screen, AreaScreen)), None)
        self.push_screen(HelpScreen(area.PLACE if area else Place.CHAT))

    def _post_own(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    def _post(self, message: object) -> None:
        if self.is_running:
            self._chat.post_message(message)  # type: ignore[arg-type]


def _palette() -> type:
    from device_app.tui.palette import Actions

    return Actions
