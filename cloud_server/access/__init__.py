"""Who may use the server, how much, and over which certificate: tokens, pairing, quotas, TLS."""
