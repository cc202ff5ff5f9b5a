"""Pairing a device with a server: the code that a person carries over, and the exchange in which both prove it."""
