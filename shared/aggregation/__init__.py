"""One answer written by two sides, token by token (DRAGON, sections 4 and 5): every decision of it, and no edge.

Knows no model, socket, clock or thread. Both sides run the same `Aggregator` on the same terms; what it decides is a
function of the seed, the prefix and both sides' drafts alone, so whoever decides a token, and whenever, it is the same.
"""
