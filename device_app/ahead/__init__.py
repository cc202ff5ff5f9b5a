"""Work ahead of questions while the device is idle: the daemon, the idle conditions, reading and prediction."""
