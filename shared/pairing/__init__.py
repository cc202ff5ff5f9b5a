"""Pairing a device with a server: the code that the user carries over, and the exchange in which both sides prove
knowledge of it.
"""
