"""The server's sockets, and the service that runs behind them."""
