"""The command palette, a list of every action that is possible now, with its command and help."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from device_app.tui.actions import Action

if TYPE_CHECKING:
    from device_app.tui.app import JackdawApp


class Actions(Provider):
    """The provider of the command palette, which offers the possible actions."""

    async def discover(self) -> Hits:
        """Yield all actions, before anything is typed."""
        for action, run in self._all():
            yield DiscoveryHit(action.title, run, help=f"/{action.slash}  {action.help}")

    async def search(self, query: str) -> Hits:
        """Yield the actions whose title or command matches."""
        matcher = self.matcher(query)
        for action, run in self._all():
            label = f"{action.title}  /{action.slash}"
            if (score := matcher.match(label)) > 0:
                yield Hit(score, matcher.highlight(label), run, help=action.help)

    def _all(self) -> list[tuple[Action, Callable[[], Any]]]:
        app = cast("JackdawApp", self.app)
        return [(action, partial(app.perform, action.id)) for action in app.available()]
