"""Access to the server: tokens, pairing, quotas, rate limits and TLS certificates."""
