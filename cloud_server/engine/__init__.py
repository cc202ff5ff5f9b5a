"""Generation for all devices from one engine: the queue, continuous batching, fairness and what is measured of it."""
