"""This device's model as a source of tokens: prefill, decode, and the confidence of its answers."""
