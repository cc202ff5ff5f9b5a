"""The settings of a phone under Termux."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class Phone:
    """What Jackdaw may use on a phone under Termux. `jackdaw phone sources` lists what it may read."""

    voice: Annotated[
        bool,
        Meta(
            description="Let `jackdaw ask --voice` use the phone's speech recogniser, which may send the sound to its "
            "maker."
        ),
    ] = False
