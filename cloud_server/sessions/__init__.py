"""Devices' sessions and their requests, independent of the kind of connection. Runs on the event loop's thread."""
