"""Generation for all devices from one engine: queue, continuous batching, fairness and measured throughput."""
