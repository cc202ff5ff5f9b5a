"""The texts that a pipeline has the model write for a request, apart from the answer.

Their jobs wait in the same queue as answers, under the same access token.
"""

import time
from collections.abc import Callable

from cloud_server.access.quota import Quota
from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import Broken, Displaced, Done, EngineEvent, Job, Token
from cloud_server.pipelines.writing import Writing


class Drafting:
    """The extra jobs of one request, within the access token's quota.

    `prompt_tokens` and `generated` count the tokens of all its jobs so far, including failed and cancelled ones.
    """

    def __init__(
        self,
        generation: Generation,
        quota: Quota,
        owner: str,
        new_key: Callable[[], int],
        release_key: Callable[[int], None],
    ) -> None:
        self.prompt_tokens = self.generated = 0
        self._generation, self._quota, self._owner = generation, quota, owner
        self._searches = 1  # the request's own search, charged when it arrived
        self._new_key, self._release_key = new_key, release_key
        self._writings: dict[int, Writing] = {}

    def begin(self, job: Job) -> Writing | None:
        """Queue a job for a text. Return None if the engine has no room, the queue is full, or the quota is spent."""
        if self._quota.tokens_wait_s(time.monotonic()) or not self._generation.possible(job):
            return None
        key, writing = self._new_key(), Writing()
        self._writings[key] = writing
        if self._generation.ask(self._owner, key, job, job.max_tokens) is None:
            self._end(key)
            return None
        self.prompt_tokens += job.prompt_tokens
        return writing

    def may_search(self, count: int) -> bool:
        """Return whether the access token may search `count` times now, and charge the searches to its quota."""
        now = time.monotonic()
        while count > self._searches and not self._quota.searches_wait_s(now):
            self._quota.searched(now)
            self._searches += 1
        allowed = count <= self._searches
        self._searches -= count if allowed else 0
        return allowed

    def take(self, event: EngineEvent) -> bool:
        """Process an event of the generation. Return False if the event belongs to none of these jobs."""
        if event.key not in self._writings:
            return False
        self._writings[event.key].take(event)
        if isinstance(event, Token):
            self.generated += 1
        if isinstance(event, Done | Broken | Displaced):
            self._end(event.key)
        return True

    def close(self) -> None:
        """Cancel all jobs that have not ended."""
        for key, writing in tuple(self._writings.items()):
            self._generation.cancel(key)
            writing.drop()
            self._end(key)

    def _end(self, key: int) -> None:
        del self._writings[key]
        self._release_key(key)
