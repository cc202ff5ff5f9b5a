"""Where the app meets models and the store. Each of its two threads owns a Device; nothing else here blocks."""
