"""Blends cached KV states into any prompt, as in CacheBlend and EPIC: they are moved, and their first tokens are
recomputed.

For research only: answers get worse (`scripts/bench reuse`), so that the app does not use it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from device_app.cache.states.tree import Node, QKVTree, name_behind
from device_app.inference.local import LocalSource
from models.engine import Engine, Logits
from shared.prompt import Prompt
from shared.trace import Trace

RECOMPUTED = 0.4
"""The share of a moved passage's tokens that is recomputed, from its first token on. With less, F1 was .10 to .11 on
lihuaworld and .10 to .13 on qmsum; with this share .14 and .12; with exact states .18 (`scripts/bench reuse`).
"""


@dataclass(frozen=True, slots=True)
class BlendingSource(LocalSource):
    """A source of answers that decodes one prompt, and also uses KV states that were cached at other positions. It
    caches only exact states.
    """

    recomputed: float = RECOMPUTED

    def prefilled(self, prompt: Prompt, trace: Trace, tree: QKVTree | None) -> list[Logits]:
        """Prefill like `LocalSource`, but blend cached states if all passages are in one prompt and the model's states
        can be moved.
        """
        paths = self.paths(prompt)
        if len(paths) > 1 or tree is None or self.recomputed >= 1 or not self.engine.info.movable:
            return LocalSource.prefilled(self, prompt, trace, tree)
        for sequence in range(self.engine.info.sequences):
            self.engine.clear(sequence)
        tail = self.tokens(prompt.tail)
        trace.tokens_prefilled += len(tail)
        return [self.engine.prefill(0, [*self._blend(paths[0], trace, tree), *tail])]

    def prefill(self, prompt: Prompt, tree: QKVTree, trace: Trace | None = None) -> Trace:
        """Prefill a prompt during idle work as the app's `LocalSource` does, without blending, so that the cached
        states are exact.
        """
        return LocalSource(self.engine, self.template).prefill(prompt, tree, trace)

    def _blend(self, path: Sequence[Node], trace: Trace, tree: QKVTree) -> list[int]:
        """Append the cached states of the prompt's parts (`path`) to sequence 0, at their own position or moved. Return
        the tokens that remain to be computed.

        A moved passage's first tokens are recomputed before its states are joined.
        """
        reached = self.extend(0, path, 0, trace, tree)
        moved = other_places(tree, self.engine.info.kv_key, path, reached)
        rest: list[int] = []
        for place, node in enumerate(path[reached:], reached):
            skip = math.ceil(self.recomputed * len(node.tokens))
            # Until its first tokens are dropped, the whole moved passage takes room behind them.
            taken = self.engine.length(0) + len(rest) + skip + len(node.tokens)
            if place not in moved or skip == len(node.tokens) or taken > self.engine.info.context:
                rest += node.tokens
                continue
            if rest := [*rest, *node.tokens[:skip]]:
                self.engine.prefill(0, rest)
            trace.tokens_prefilled += len(rest)
            if _move(self.engine, tree, moved[place], node, skip):
                trace.segments_moved += 1
                trace.tokens_moved += len(node.tokens) - skip
                trace.tokens_recomputed += skip
                rest = []
            else:
                rest = list(node.tokens[skip:])
        trace.tokens_prefilled += len(rest)
        return rest


def other_places(tree: QKVTree, kv_key: str, path: Sequence[Node], start: int) -> dict[int, str]:
    """Return the names of cached states that fit parts of a prompt (`path`, from index `start` on) but were cached at
    another place: directly after the instructions (the root), or after other parts of the same prompt.

    Such a state depends only on text of this prompt. States with fewer parts before them are preferred.
    """
    root, *passages = path
    names: dict[int, str] = {}
    level: list[tuple[str, tuple[int, ...]]] = [(name_behind(kv_key, root.segments), ())]
    while level and len(names) < len(path) - start:
        below = {
            name_behind(parent, node.segments): (*before, place)
            for parent, before in level
            for place, node in enumerate(passages, 1)
            if place not in before
        }
        known = tree.rows.known(list(below))
        level = [(name, places) for name, places in below.items() if name in known]
        for name, places in level:
            if places[-1] >= start:
                names.setdefault(places[-1], name)
    return names


def _move(engine: Engine, tree: QKVTree, name: str, node: Node, skip: int) -> bool:
    """Append the named states to sequence 0, without their first `skip` tokens, which the sequence already has. Return
    whether that was possible.
    """
    if not tree.joined(name, node, lambda states: engine.join_moved(0, states, skip)):
        return False
    tree.rows.used([name])
    return True
