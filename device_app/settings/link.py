"""The settings of the companion server: what may be sent to it, what it costs, and who writes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta


@dataclass(frozen=True, slots=True)
class Link:
    """The companion server, if this device is connected to one (`jackdaw connect`)."""

    allowed: Annotated[
        bool, Meta(description="Ask the companion server what your own files do not answer; false sends nothing.")
    ] = True
    # Drafts of an answer repeat text of the files it is drawn from, so none is sent before the person allows it.
    together: Annotated[
        Literal["asked", "question", "fitting"],
        Meta(
            description="What may be sent if your files answer a question only in part. asked: nothing without "
            "--together or --send. question: the question, to get the server's passages. fitting: also drafts of the "
            "answer, where that is faster; they repeat text of your files."
        ),
    ] = "question"
    privacy: Annotated[
        Literal["drafts", "open"],
        Meta(
            description="What is sent while both sides write an answer: drafts, the draft tokens alone; open, also "
            "your model's token probabilities, which reveal far more of your files, and the weights of "
            "answer.weights_every."
        ),
    ] = "drafts"
    # By forecast and in virtual time, both sides are never slower than the better one (`aggregation_choice.py`).
    aggregation: Annotated[
        Literal["auto", "both", "device", "server", "scheduled"],
        Meta(
            description="With link.privacy = open, which side decides the tokens of an answer that both sides write: "
            "both; device or server alone; scheduled, the one that delays the answer less at the moment; auto, the "
            "fastest by measurement. With link.privacy = drafts, this setting has no effect."
        ),
    ] = "auto"
    spare: Annotated[
        float,
        Meta(ge=-1, le=1, description="From 0, save battery, to 1, save money on the server; -1 decides by the costs."),
    ] = -1.0
    # Ours includes the paper's choices, so that it waits no longer where the forecasts hold (dispatch/optimal.py).
    policy: Annotated[
        Literal["ours", "paper"],
        Meta(
            description="How it is decided when each side starts an answer: ours, by the least expected wait; paper, "
            "by prompt length and a wait for the server, as DiSCo publishes it."
        ),
    ] = "ours"
    price_prompt: Annotated[
        float, Meta(ge=0, le=1e6, description="The server's price for a million tokens read, in your currency.")
    ] = 0.0
    price_answer: Annotated[
        float, Meta(ge=0, le=1e6, description="The server's price for a million tokens written, in your currency.")
    ] = 0.0
    price_kwh: Annotated[
        float,
        Meta(
            ge=0,
            le=1e6,
            description="Price of a kilowatt-hour from a full battery, in your currency. It rises as the battery "
            "empties or heats; on mains power, energy counts as free.",
        ),
    ] = 0.3
    metered: Annotated[
        Literal["auto", "yes", "no"],
        Meta(
            description="Whether the network to the server costs link.price_mb: auto asks NetworkManager, and takes "
            "an unknown answer as no."
        ),
    ] = "auto"
    price_mb: Annotated[
        float,
        Meta(ge=0, le=1e6, description="Price of a megabyte over a metered network, in your currency."),
    ] = 0.005
    day_joules: Annotated[
        float,
        Meta(
            ge=0,
            le=1e9,
            description="Joules for a day's answers, after which this device writes only what no server may write. On "
            "mains power, no joules are counted and no limit applies; 0 sets no limit.",
        ),
    ] = 0.0
    day_money: Annotated[
        float,
        Meta(
            ge=0,
            le=1e9,
            description="Money for a day's answers, in your currency, after which the server writes only if this "
            "device fails; 0 sets no limit.",
        ),
    ] = 0.0
    # DiSCo, section 2.2: people between 25 and 44 read 4 to 5 tokens a second; skimming is faster.
    reading_rate: Annotated[
        float,
        Meta(
            ge=1,
            le=1000,
            description="Your reading speed in tokens per second. An answer is shown at this speed while it moves from "
            "one side to the other.",
        ),
    ] = 8.0
    steady: Annotated[
        bool,
        Meta(description="Show a server's answer no faster than link.reading_rate, to hide server failures."),
    ] = False
