"""Properties that are made when first asked for, without the lock of Python 3.11's `cached_property`."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  # it stands where property does
    """What two threads make at the same time is equal, so that no lock is needed."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        """Make it so."""
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, thing: None, owner: type) -> "once[T]": ...

    @overload
    def __get__(self, thing: object, owner: type) -> T: ...

    def __get__(self, thing: object, owner: type) -> "once[T] | T":
        """Make it, and keep it where the next question finds it without asking here."""
        if thing is None:
            return self
        made = thing.__dict__[self._name] = self._make(thing)
        return made
