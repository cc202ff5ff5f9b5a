"""One answer written by both sides, token by token (DRAGON): the end of this device."""
