"""Which connections that have not shown a token yet may stay: so many of one address, so many in all. Pure.

Where there are too many, those go that have waited longest: of an address once they are silent for a while, as a burst
of devices behind one address is no fault; of the address that has most, at once, where there are too many in all.
Whoever has a token shows it within milliseconds, and whoever only waits makes room. An address is what one person has:
an IPv4 address, or the /64 of an IPv6 address.
"""

from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

SILENT_S = 2.0
"""Seconds without a token after which a connection is none of a burst."""


def household(host: str) -> str:
    """The address that a host is counted under."""
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
    return str(address)


@dataclass(slots=True)
class Gate:
    """At most `most` connections in all, and `most_each` silent ones of one address. Each has a number of its own.

    `now` is any clock that never goes back, in seconds.
    """

    most: int
    most_each: int
    _waiting: dict[str, dict[int, float]] = field(default_factory=dict)  # since when
    _addresses: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Connections that wait."""
        return len(self._addresses)

    def enter(self, connection: int, address: str, now: float) -> list[int]:
        """Let one more wait; those that have to go for it."""
        own, going = self._waiting.setdefault(address, {}), list[int]()
        own[connection], self._addresses[connection] = now, address
        while len(own) > self.most_each and now - next(iter(own.values())) >= SILENT_S:
            going.append(self._drop_oldest(address))
        if len(self) > self.most:
            going.append(self._drop_oldest(max(self._waiting, key=lambda host: len(self._waiting[host]))))
        return going

    def leave(self, connection: int) -> None:
        """It has shown a token, or is gone; again is nothing."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            del self._waiting[address][connection]
            if not self._waiting[address]:
                del self._waiting[address]

    def _drop_oldest(self, address: str) -> int:
        oldest = next(iter(self._waiting[address]))
        self.leave(oldest)
        return oldest
