"""What a check is, and what it has to say about one object."""

from typing import NamedTuple

from msgspec import Struct

from translator.names import Ref

WITHOUT_EFFECT = "without effect"
REMARK = "served with a remark"


class Check(Struct, frozen=True):
    """One thing that is looked for, under a name that stays the same."""

    id: str
    group: str
    what: str  # of what is found, as a table of all checks says it
    remedy: str


class Advice(NamedTuple):
    """What one check found, about which field of which object."""

    check: Check
    about: Ref
    field: str
    message: str
