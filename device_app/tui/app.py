"""The app: its themes, its screens, and what can be done on all of them. Knows no model and no database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, cast

from textual import constants, events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.message import Message
from textual.reactive import reactive

from device_app import settings
from device_app.tui import messages
from device_app.tui.actions import ACTIONS, BY_ID, Action, Place, available
from device_app.tui.area import AreaScreen
from device_app.tui.cache.suggestions import Suggestions
from device_app.tui.chat.screen import ChatScreen
from device_app.tui.edge.answers import Answers
from device_app.tui.edge.caches import Caches
from device_app.tui.edge.ingestion import Reader
from device_app.tui.edge.known import Known
from device_app.tui.edge.preferences import Preferences
from device_app.tui.edge.records import Records
from device_app.tui.harmless import Harmless
from device_app.tui.knowledge.reading import Phase, Reading
from device_app.tui.sizes import BY_HEIGHT, BY_WIDTH
from device_app.tui.themes import THEMES
from device_app.tui.wording import safe
from shared.errors import GaveWay, JackdawError, UsageError

if TYPE_CHECKING:
    from device_app.tui.edge.preferences import Model
    from device_app.tui.settings.models import ModelsScreen

_HARMLESS = Harmless()


class JackdawApp(App[None]):
    """One person's Jackdaw on a terminal."""

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
    """How far the reading of files is."""

    def __init__(
        self,
        environment: Mapping[str, str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        look: settings.App = settings.App(),  # noqa: B008  (frozen)
    ) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self._dress(look)
        self._preferences = Preferences(environment)
        self._answers = Answers(environment, self._post)
        self._records = Records(environment)
        self._known = Known(environment)
        self._caches = Caches(environment, self._answers)
        self.environment, self._clock = environment, clock
        self._chat = ChatScreen(self._answers, self._records, self._caches, clock)
        self.reader = Reader(environment, self._post_own, lambda: self._chat.answering)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every drawn line passes on its way to the terminal."""
        return [*super().get_line_filters(), _HARMLESS]

    async def on_event(self, event: events.Event) -> None:
        """What is pasted is foreign text, whichever line it is pasted into."""
        if isinstance(event, events.Paste):
            event.text = safe(event.text)
        await super().on_event(event)

    def copy_to_clipboard(self, text: str) -> None:
        """What is copied will be pasted somewhere, perhaps into a shell."""
        super().copy_to_clipboard(safe(text))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What the style sheet needs of a theme that is none of ours."""
        return {"quiet": "#8f9bac"}

    def get_default_screen(self) -> ChatScreen:
        """The chat is there from the first paint on."""
        return self._chat

    def on_mount(self) -> None:
        """Paint anew what a shell has painted over while the app was suspended."""
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    def on_unmount(self) -> None:
        """Stop the threads; they end within a batch of the model."""
        self.reader.close()
        self._caches.close()
        self._answers.close()
        self._records.close()
        self._known.close()
        self._preferences.close()

    def available(self) -> list[Action]:
        """What can be done now, here."""
        area = next((screen for screen in reversed(self.screen_stack) if isinstance(screen, AreaScreen)), None)
        states = self._chat.states() | (area.status.states if area else frozenset())
        here = area.PLACE if area else Place.CHAT
        return [one for one in ACTIONS if one.place in (Place.APP, Place.CHAT, here) and available(one, states)]

    async def perform(self, action_id: str, given: str = "") -> None:
        """Do an action that was typed or chosen, on the screen of its place, which is opened for it."""
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
        """Show the screen of a place, in the stead of another area's."""
        if isinstance(self.screen, AreaScreen):
            if self.screen.PLACE is place:
                return self.screen
            self.pop_screen()
        screen = self._area(place)
        await self.push_screen(screen)
        return screen

    def _area(self, place: Place) -> AreaScreen:
        """A new screen of that place; its module is imported with it."""
        if place is Place.KNOWLEDGE:
            from device_app.tui.knowledge.screen import KnowledgeScreen

            return KnowledgeScreen(self._known, self.reader, self._clock, self.environment)
        if place is Place.SETTINGS:
            from device_app.tui.settings.screen import SettingsScreen

            return SettingsScreen(self._preferences, self.setting_changed)
        if place is Place.MODELS:
            from device_app.tui.settings.models import ModelsScreen

            return ModelsScreen(self._preferences, self._begin_use)
        if place is Place.CACHE:
            from device_app.tui.cache.screen import CacheScreen

            return CacheScreen(self._caches, self._clock)
        raise AssertionError(f"there is no screen for {place}")

    async def action_knowledge(self) -> None:
        """What is known."""
        await self.open_area(Place.KNOWLEDGE)

    async def action_add(self, typed: str = "") -> None:
        """Read a file or folder; without a path, let the person type one."""
        if not typed:
            screen = await self.open_area(Place.KNOWLEDGE)
            screen.call_after_refresh(screen.type_path)  # type: ignore[attr-defined]
        elif not await self.add(typed):
            self._chat.composer.begin(f"/add {typed}")
        elif not self._chat.is_first_run:
            await self.open_area(Place.KNOWLEDGE)

    async def add(self, typed: str) -> bool:
        """Begin to read what lies at a typed path; otherwise tell what is wrong with it."""
        from device_app.tui.edge import places

        try:
            path = await asyncio.to_thread(places.checked, typed)
        except UsageError as error:
            self.notify(safe(str(error)), severity="warning", markup=False, timeout=6)
            return False
        self.reader.read([path])
        return True

    @on(messages.Read)
    def _read(self, event: messages.Read) -> None:
        self.reading = event.reading

    @on(messages.Ready)
    def _models_are_here(self) -> None:
        if self.reading.phase is Phase.WAITING:
            self.reader.resume()

    async def setting_changed(self, key: str) -> None:
        """A setting was written: let it count."""
        section = key.partition(".")[0]
        if section == "app":
            self._dress(await self._preferences.look())
        elif section != "daemon":
            for part in (self._answers, self._records, self._known, self._caches, self._preferences):
                part.reopen()

    def _dress(self, look: settings.App) -> None:
        """Colours and motion. TEXTUAL_ANIMATIONS may ask for less motion, not for more."""
        self.theme = look.theme
        self.animation_level = constants.TEXTUAL_ANIMATIONS if look.motion else "none"

    async def action_settings(self, words: str = "") -> None:
        """Every setting, or those with these words."""
        from device_app.tui.settings.screen import SettingsScreen

        screen = await self.open_area(Place.SETTINGS)
        assert isinstance(screen, SettingsScreen)
        screen.filter(words)

    async def action_model(self, name: str = "") -> None:
        """The models; the one of that name is used from now on."""
        from device_app.tui.settings.models import ModelsScreen

        screen = await self.open_area(Place.MODELS)
        assert isinstance(screen, ModelsScreen)
        if name:
            screen.run_worker(screen.pick(name))

    def action_private(self) -> None:
        """What left the device."""
        from device_app.tui.settings.private import PrivateScreen

        self.push_screen(PrivateScreen(self._preferences))

    async def _begin_use(self, model: Model) -> None:
        """Use the model; the fetch goes on when its screen is left."""
        self.run_worker(self._use(model), group="model")

    async def _use(self, model: Model) -> None:
        try:
            if model.state != "present":
                await self._preferences.fetch(model.address)
            await self._preferences.use(model.address)
        except GaveWay as stopped:
            self.notify(safe(str(stopped)), markup=False)
        except JackdawError as error:
            self.notify(safe(str(error)), severity="error", markup=False, timeout=8)
        else:
            await self.setting_changed("model.name")
            self.notify(safe(f"{model.name} is used from now on."), markup=False)
        for screen in self.screen_stack:
            if isinstance(screen, AreaScreen) and screen.PLACE is Place.MODELS:
                await cast("ModelsScreen", screen).reload()

    def action_theme(self, name: str = "") -> None:
        """The theme of that name, or the next."""
        names = [theme.name for theme in THEMES]
        if name and name not in names:
            self.notify(f"There is {', '.join(names)}.", severity="warning", markup=False)
            return
        self.theme = name or names[(names.index(self.theme) + 1) % len(names)]
        self.run_worker(self._keep_theme(self.theme), group="theme")

    async def _keep_theme(self, name: str) -> None:
        try:
            await self._preferences.set("app.theme", name)
        except JackdawError as error:
            self.notify(safe(str(error)), severity="warning", markup=False)

    async def action_cache(self) -> None:
        """What is kept."""
        await self.open_area(Place.CACHE)

    @on(Suggestions.Chosen)
    async def _suggested(self, event: Suggestions.Chosen) -> None:
        """Ask it in a conversation of its own: what follows on something is not answered from before."""
        while self.screen is not self._chat:
            self.pop_screen()
        await self._chat.ask_anew(event.question)

    def action_help(self) -> None:
        """Every command and key."""
        from device_app.tui.help import HelpScreen

        self.push_screen(HelpScreen())

    def _post_own(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    def _post(self, message: object) -> None:
        if self.is_running:
            self._chat.post_message(message)  # type: ignore[arg-type]


def _palette() -> type:
    from device_app.tui.palette import Actions

    return Actions
