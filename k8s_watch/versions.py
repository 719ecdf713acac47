"""Versions of objects, which an API server counts up: which of two came first."""


def is_older(version: str, than: str) -> bool:
    """Compare two versions that are numbers; of others nothing is known."""
    if version.isdecimal() and than.isdecimal():
        return (len(version), version) < (len(than), than)
    return False
