"""A pytest plugin: takes the short model under the default model's name, as its sums are not those of the catalog."""

from models.catalog import Entry, Weights


def _present(_weights: Weights, _entry: Entry) -> bool:
    return False


def pytest_configure() -> None:
    """Let the tests' fixture of weights find every file present."""
    Weights.pull = _present  # type: ignore[method-assign, assignment]
