"""Limits for connections that have not shown a token yet: per address and in total. No I/O.

If an address has too many, its oldest connections are closed once they have been silent for a while, because many
devices behind one address may connect at once. If there are too many in total, the oldest connection of the address
with the most is closed at once. Real devices show a token within milliseconds. Connections are counted per IPv4 address
or per /64 of IPv6, which one household has.
"""

from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

SILENT_S = 2.0
"""Seconds without a token after which a connection may be closed if its address has too many; a burst of real devices
shows its tokens sooner.
"""


def household(host: str) -> str:
    """Return the address under which a host is counted: its IPv4 address, or its /64 for IPv6."""
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
    return str(address)


@dataclass(slots=True)
class Gate:
    """The connections without a token: at most `most` in total, and at most `most_each` silent ones per address.

    Each connection has its own number. `now` is any clock that never goes back, in seconds.
    """

    most: int
    most_each: int
    _waiting: dict[str, dict[int, float]] = field(default_factory=dict)  # by address and connection: time of arrival
    _addresses: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of connections without a token."""
        return len(self._addresses)

    def enter(self, connection: int, address: str, now: float) -> list[int]:
        """Add a connection. Return the connections that have to be closed to make room for it."""
        own, going = self._waiting.setdefault(address, {}), list[int]()
        own[connection], self._addresses[connection] = now, address
        while len(own) > self.most_each and now - next(iter(own.values())) >= SILENT_S:
            going.append(self._drop_oldest(address))
        if len(self) > self.most:
            going.append(self._drop_oldest(max(self._waiting, key=lambda host: len(self._waiting[host]))))
        return going

    def leave(self, connection: int) -> None:
        """Remove a connection that has shown a token or is closed; an unknown connection is ignored."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            del self._waiting[address][connection]
            if not self._waiting[address]:
                del self._waiting[address]

    def _drop_oldest(self, address: str) -> int:
        oldest = next(iter(self._waiting[address]))
        self.leave(oldest)
        return oldest
