"""Torch behind the Engine protocol, to measure what a paper publishes. It does not ship: the checkout alone has it."""
