"""Pairing a device with a server, by a code that the user carries from the server to the device.

In the exchange, both sides prove that they know the code.
"""
