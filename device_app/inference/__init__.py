"""This device's model as a source of tokens: prefill, decoding, and the confidence in its answers."""
