"""A fake device, as in the tests of the caches, for the tests of background work that fills the caches."""

from tests.device_app.cache.conftest import another, device, one_question_a_passage

__all__ = ["another", "device", "one_question_a_passage"]
