"""The actions for choices that affect the whole app: settings, the model, the theme."""

from __future__ import annotations

import asyncio
import subprocess
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from textual import constants
from textual.app import SuspendNotSupported

from device_app import settings
from device_app.settings.change import overruled
from device_app.tui.actions import Place
from device_app.tui.area import AreaScreen
from device_app.tui.edge.parts import Parts
from device_app.tui.keyed import KeyedApp
from device_app.tui.themes import THEMES
from shared.errors import GaveWay, JackdawError
from shared.printable import safe

if TYPE_CHECKING:
    from device_app.tui.edge.preferences import Model
    from device_app.tui.settings.models import ModelsScreen


class ChoosingApp(KeyedApp):
    """The part of the app that applies the person's choices. Subclasses implement `open_area`."""

    def __init__(self, parts: Parts, environment: Mapping[str, str]) -> None:
        super().__init__()
        self.parts = parts
        self.environment = environment

    @abstractmethod
    async def open_area(self, place: Place) -> AreaScreen:
        """Show the screen for a `Place`, such as the settings."""

    async def setting_changed(self, key: str) -> None:
        """Apply a setting that was written to the settings file."""
        section = key.partition(".")[0]
        if section == "app":
            self._dress(await self.parts.preferences.look())
        elif section != "daemon":
            self.parts.reopen()

    def _dress(self, look: settings.App) -> None:
        """Apply the theme and the setting for animations of `look`.

        The variable TEXTUAL_ANIMATIONS can reduce the animations, not add any.
        """
        self.theme = look.theme
        self.animation_level = constants.TEXTUAL_ANIMATIONS if look.motion else "none"

    async def action_settings(self, words: str = "") -> None:
        """Show every setting, or only the settings that contain these words."""
        from device_app.tui.settings.screen import SettingsScreen

        screen = await self.open_area(Place.SETTINGS)
        assert isinstance(screen, SettingsScreen)
        screen.filter(words)

    async def action_model(self, name: str = "") -> None:
        """Show the models; with a name, use the model of that name from now on."""
        from device_app.tui.settings.models import ModelsScreen

        screen = await self.open_area(Place.MODELS)
        assert isinstance(screen, ModelsScreen)
        if name:
            screen.run_worker(screen.pick(name))

    def action_private(self) -> None:
        """Show which data left the device."""
        from device_app.tui.settings.private import PrivateScreen

        self.push_screen(PrivateScreen(self.parts.preferences))

    async def _begin_use(self, model: Model) -> None:
        """Use the model, after downloading it if needed; the download continues when the person leaves the screen."""
        self.run_worker(self._use(model), group="model")

    async def _use(self, model: Model) -> None:
        try:
            if model.state != "present":
                await self.parts.preferences.fetch(model.address)
            await self.parts.preferences.use(model.address)
        except GaveWay as stopped:
            self.notify(safe(str(stopped)), markup=False)
        except JackdawError as error:
            self.notify(safe(str(error)), severity="error", markup=False, timeout=8)
        else:
            await self.setting_changed("model.name")
            key = "model.name" if model.kind == "engine" else "embedder.name"
            before = overruled(key, self.environment)
            said = (
                f"{model.name} was saved in your settings. {before}"
                if before
                else f"{model.name} is the model used from now on."
            )
            self.notify(safe(said), markup=False)
        for screen in self.screen_stack:
            if isinstance(screen, AreaScreen) and screen.PLACE is Place.MODELS:
                await cast("ModelsScreen", screen).reload()

    async def edit(self, source: Mapping[str, Any]) -> None:
        """Open a source's file in the person's editor, at the passage's line, while the app is suspended."""
        if source["side"] == "server" or self.is_web:
            self.notify("Only files on this device open in an editor, and not from a browser.", markup=False)
            return
        try:
            command = await self.parts.searches.editor(source["id"])
            with self.suspend():
                await asyncio.to_thread(subprocess.run, command, check=False)
        except (JackdawError, OSError, SuspendNotSupported) as error:
            self.notify(safe(str(error)), severity="warning", markup=False, timeout=6)

    def action_suspend(self) -> None:
        """Suspend the app and return to the shell, if the terminal has one."""
        if self._driver and self._driver.can_suspend:
            self.action_suspend_process()
        else:
            self.notify("Jackdaw cannot be suspended: there is no shell.")

    def action_theme(self, name: str = "") -> None:
        """Apply the theme with that name, or the next one."""
        names = [theme.name for theme in THEMES]
        if name and name not in names:
            self.notify(f"Choose one of the themes: {', '.join(names)}.", severity="warning", markup=False)
            return
        self.theme = name or names[(names.index(self.theme) + 1) % len(names)]
        self.run_worker(self._keep_theme(self.theme), group="theme")

    async def _keep_theme(self, name: str) -> None:
        try:
            await self.parts.preferences.set("app.theme", name)
        except JackdawError as error:
            self.notify(safe(str(error)), severity="warning", markup=False)
            return
        if before := overruled("app.theme", self.environment):
            self.notify(f"The theme is {name} until you quit. {before}", markup=False)
