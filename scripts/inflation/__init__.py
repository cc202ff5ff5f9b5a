"""Weights of a larger shape that compute what small ones compute: targets of any cost, with a known text."""
