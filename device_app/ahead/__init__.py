"""Background work for later questions while the device is idle: the daemon, idle conditions, reading and prediction."""
