"""Every action in the command palette, with its command and its help."""

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from device_app.tui.actions import ACTIONS


class Actions(Provider):
    """What there is to do. The app has `perform`."""

    async def discover(self) -> Hits:
        """All of it, before anything is typed."""
        for action in ACTIONS:
            run = partial(self.app.perform, action.id)  # type: ignore[attr-defined]
            yield DiscoveryHit(action.title, run, help=f"/{action.slash}  {action.help}")

    async def search(self, query: str) -> Hits:
        """What matches title or command."""
        matcher = self.matcher(query)
        for action in ACTIONS:
            told = f"{action.title}  /{action.slash}"
            if (score := matcher.match(told)) > 0:
                run = partial(self.app.perform, action.id)  # type: ignore[attr-defined]
                yield Hit(score, matcher.highlight(told), run, help=action.help)
