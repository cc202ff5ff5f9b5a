"""Draws pictures of the terminal app, as SVG, with the models and files of JACKDAW_HOME.

Without an argument, it draws the pictures in the READMEs; with a folder as argument, several screens, each at three
sizes.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from device_app.tui.app import JackdawApp
from device_app.tui.chat.screen import ChatScreen

SIZES = ((40, 20), (80, 24), (120, 40))
SHOWN = Path(__file__).parents[1] / "device_app" / "tui" / "pictures"
README = (("conversation", "conversation", (104, 30)), ("cache", "cache", (104, 34)), ("phone", "answer", (40, 24)))
"""The pictures in the READMEs: name, screen, and columns and rows of each."""

QUESTIONS = (
    "What is the booking reference of the flights to Bergen?",
    "What is the booking reference of the flights to Bergen?",
    "When is the dentist appointment, now that it has been moved?",
)
PATIENCE_S = 60.0
SETTLING_S = 2.0
"""Seconds to wait before drawing a screen that reads from the store."""

SCREENS: dict[str, tuple[str, ...]] = {
    "welcome": (),
    "answer": ("ask",),
    "conversation": ("ask", "ctrl+n", "ask", "ask", "escape"),
    "source": ("ask", "escape", "1"),
    "why": ("ask", "escape", "w"),
    "conversations": ("ask", "ctrl+o"),
    "commands": ("slash",),
    "cache": ("ask", "ask", "/cache"),
}


async def draw(screen: str, size: tuple[int, int], file: Path) -> None:
    """Open the app, go to a screen, and write its picture."""
    app = JackdawApp(os.environ)
    async with app.run_test(size=size) as pilot:
        chat = app.screen
        assert isinstance(chat, ChatScreen)
        await _until(pilot, lambda: chat.status.doing == "ready")
        questions = iter(QUESTIONS)
        for key in SCREENS[screen]:
            if key == "ask":
                chat.composer.begin(next(questions))
                await pilot.press("enter")
                await _until(pilot, lambda: bool(chat.transcript.views) and chat.status.doing == "ready")
            elif key.startswith("/"):
                chat.composer.begin(key)
                await pilot.press("enter")
                await pilot.pause(SETTLING_S)
            else:
                await pilot.press(key)
            await pilot.pause(0.5)
        file.write_text(app.export_screenshot(), encoding="utf-8")


async def _until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await pilot.pause(0.05)


def main() -> None:
    """Draw the pictures of the READMEs, or all screens into a folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHOWN
    folder.mkdir(parents=True, exist_ok=True)
    if folder == SHOWN:
        for name, screen, size in README:
            asyncio.run(draw(screen, size, folder / f"{name}.svg"))
    else:
        for screen in SCREENS:
            for size in SIZES:
                asyncio.run(draw(screen, size, folder / f"{screen}-{size[0]}x{size[1]}.svg"))
    print(folder)


if __name__ == "__main__":
    main()
