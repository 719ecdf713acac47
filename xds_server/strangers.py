"""Names of one type that a client asks for, or says it has, and that it is not offered: what they take.

Whoever asks for what there is costs no more than there is. Anything else may be made up, by the million.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

COST_OF_NAME = 150  # bytes that are kept for one, besides its letters
LONGEST_VERSION = 100  # of any control plane's; ours have 32 letters

Offered = Callable[[str], bool]


class Strangers:
    """What one stream has us keep of one type without need."""

    def __init__(self) -> None:
        self.bytes = 0
        self._asked: set[str] = set()
        self._claimed: dict[str, str] = {}  # versions by name

    def ask(self, names: Iterable[str], is_offered: Offered) -> None:
        """Take in names that are asked for."""
        self._asked.update(name for name in names if not is_offered(name))

    def claim(self, versions: Mapping[str, str], is_offered: Offered) -> None:
        """Take in what the client says that it has."""
        self._claimed = dict(versions)
        self.recognize(is_offered)

    def keep(self, asked: AbstractSet[str], held: Collection[str]) -> None:
        """Forget what is not asked for any more, or not held."""
        if self._asked or self._claimed or self.bytes:
            self._asked &= asked
            self._claimed = {name: version for name, version in self._claimed.items() if name in held}
            self._weigh()

    def recognize(self, is_offered: Offered) -> None:
        """Count no more what is offered by now."""
        self._asked = {name for name in self._asked if not is_offered(name)}
        claimed = self._claimed.items()
        self._claimed = {
            name: version
            for name, version in claimed
            if len(version) > LONGEST_VERSION or not is_offered(name)
        }
        self._weigh()

    def _weigh(self) -> None:
        texts = (*self._asked, *self._claimed, *self._claimed.values())
        self.bytes = sum(map(len, texts)) + COST_OF_NAME * len(texts)
