"""Addresses to give away."""

from collections import deque
from ipaddress import IPv4Network

FIRST = 10  # those before are left for whoever names an address of his own


class Pool:
    """Gives addresses in turn: one given back comes last, so that nobody mistakes it for its former owner."""

    def __init__(self, network: str) -> None:
        addresses = [str(host) for host in IPv4Network(network).hosts()]
        self._reserved = set(addresses[:FIRST])
        self._free = deque(addresses[FIRST:])

    def take(self) -> str:
        """Give the address that was free for the longest time."""
        return self._free.popleft()

    def claim(self, address: str) -> bool:
        """Give this address, if it is free."""
        if address in self._reserved:
            self._reserved.discard(address)
        elif address in self._free:
            self._free.remove(address)
        else:
            return False
        return True

    def give_back(self, address: str) -> None:
        """Take an address back."""
        self._free.append(address)
