"""The device whose caches are filled ahead, as the tests of the caches have it."""

from tests.device_app.cache.conftest import another, device, one_question_a_passage

__all__ = ["another", "device", "one_question_a_passage"]
