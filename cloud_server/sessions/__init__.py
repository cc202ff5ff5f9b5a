"""Devices' sessions and their requests, whatever they are connected with. On the event loop's thread."""
