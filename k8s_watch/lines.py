"""Lines out of the pieces in which a stream arrives, without IO."""


class TooLongError(Exception):
    """A line is longer than anybody would honestly send."""


class Lines:
    """What has arrived of a stream and is not yet a whole line."""

    def __init__(self, longest: int) -> None:
        """Refuse lines of more bytes than this."""
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add what arrived; return the lines that are whole now, without ends and empty ones."""
        head, newline, rest = chunk.partition(b"\n")
        if not newline:
            self._keep(chunk)
            return []
        self._keep(head)
        first = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        *others, last = rest.split(b"\n")
        self._keep(last)
        lines = [line for line in (first, *others) if line]
        if any(len(line) > self._longest for line in lines):
            raise TooLongError
        return lines

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            raise TooLongError
        if piece:
            self._pieces.append(piece)
