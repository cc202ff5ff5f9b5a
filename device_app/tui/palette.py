"""Every action that can be done now in the command palette, with its command and its help."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from device_app.tui.actions import Action

if TYPE_CHECKING:
    from device_app.tui.app import JackdawApp


class Actions(Provider):
    """What there is to do."""

    async def discover(self) -> Hits:
        """All of it, before anything is typed."""
        for action, run in self._all():
            yield DiscoveryHit(action.title, run, help=f"/{action.slash}  {action.help}")

    async def search(self, query: str) -> Hits:
        """What matches title or command."""
        matcher = self.matcher(query)
        for action, run in self._all():
            label = f"{action.title}  /{action.slash}"
            if (score := matcher.match(label)) > 0:
                yield Hit(score, matcher.highlight(label), run, help=action.help)

    def _all(self) -> list[tuple[Action, Callable[[], Any]]]:
        app = cast("JackdawApp", self.app)
        return [(action, partial(app.perform, action.id)) for action in app.available()]
