"""The app's access to models and the store, in threads of their own, so that the screen never blocks."""
