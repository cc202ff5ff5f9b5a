"""The server's sockets and the service behind them."""
