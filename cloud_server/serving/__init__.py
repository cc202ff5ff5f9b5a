"""The server's sockets, and the service that handles their connections."""
