"""Work ahead of questions while the device is idle: the daemon, when it may work, what it reads and predicts."""
