"""Pictures of the terminal app, as SVG: a few screens at three sizes, with the models and files of JACKDAW_HOME."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from device_app.tui.app import JackdawApp
from device_app.tui.chat.screen import ChatScreen

SIZES = ((40, 20), (80, 24), (120, 40))
README = "conversation", (104, 30), Path(__file__).parent
"""The picture in the README is made anew with the others, before they fill the list of conversations."""

QUESTIONS = (
    "What is the booking reference of the flights to Bergen?",
    "What is the booking reference of the flights to Bergen?",
    "When is the dentist appointment, now that it has been moved?",
)
PATIENCE_S = 60.0

SCREENS: dict[str, tuple[str, ...]] = {
    "welcome": (),
    "answer": ("ask",),
    "conversation": ("ask", "ctrl+n", "ask", "ask", "escape"),
    "source": ("ask", "escape", "1"),
    "why": ("ask", "escape", "w"),
    "conversations": ("ask", "ctrl+o"),
    "commands": ("slash",),
}


async def picture(name: str, size: tuple[int, int], folder: Path) -> None:
    """Open the app, go to a screen, and draw it."""
    app = JackdawApp(os.environ)
    async with app.run_test(size=size) as pilot:
        chat = app.screen
        assert isinstance(chat, ChatScreen)
        await _until(pilot, lambda: chat.status.doing == "ready")
        questions = iter(QUESTIONS)
        for key in SCREENS[name]:
            if key == "ask":
                chat.composer.begin(next(questions))
                await pilot.press("enter")
                await _until(pilot, lambda: bool(chat.transcript.views) and chat.status.doing == "ready")
            else:
                await pilot.press(key)
            await pilot.pause(0.5)
        (folder / f"{name}-{size[0]}x{size[1]}.svg").write_text(app.export_screenshot(), encoding="utf-8")


async def _until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await pilot.pause(0.05)


def main() -> None:
    """Draw all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(picture(*README))
    for name in SCREENS:
        for size in SIZES:
            asyncio.run(picture(name, size, folder))
    print(folder)


if __name__ == "__main__":
    main()
