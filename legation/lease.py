"""Who holds a Lease, and when another may take it: no IO and no clock.

A holder counts as gone when its Lease did not change for as long as it says it lasts, by our own clock alone:
clocks of different machines are never compared.
"""

import msgspec
from msgspec import Struct

DURATION = 9  # seconds that a Lease lasts without being renewed
RENEW_WITHIN = 6.0  # seconds after which a holder that could not renew stops to act as one
RETRY = 2.0  # seconds between two attempts


class _Spec(Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(Struct, frozen=True):
    spec: _Spec = _Spec()


class Seen(Struct, frozen=True):
    """A Lease, and when this version of it was first seen, by our clock."""

    version: str
    holder: str
    duration: int
    since: float
    body: bytes

    def is_free_for(self, candidate: str, now: float) -> bool:
        """Say whether a candidate may write its own name into it, or has it already."""
        return self.holder in ("", candidate) or now >= self.since + self.duration


def seen(version: str, body: bytes, before: Seen | None, now: float) -> Seen:
    """Look at a Lease; one that is as it was grows older."""
    spec = msgspec.json.decode(body, type=_Lease).spec
    since = before.since if before is not None and before.version == version else now
    return Seen(version, spec.holder_identity or "", spec.lease_duration_seconds or 0, since, body)


def first(name: str, candidate: str, time: str) -> bytes:
    """Write a Lease where there is none."""
    spec = _Spec(candidate, DURATION, time, time, 0)
    heading = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
    return msgspec.json.encode({**heading, "spec": spec})


def held(found: Seen, candidate: str, time: str) -> bytes:
    """Write that a candidate holds it, since now or still."""
    spec = msgspec.json.decode(found.body, type=_Lease).spec
    taken = found.holder != candidate
    return _with(
        found,
        _Spec(
            holder_identity=candidate,
            lease_duration_seconds=DURATION,
            acquire_time=time if taken else spec.acquire_time,
            renew_time=time,
            lease_transitions=(spec.lease_transitions or 0) + taken,
        ),
    )


def released(found: Seen, time: str) -> bytes:
    """Write that nobody holds it, so that another need not wait."""
    spec = msgspec.json.decode(found.body, type=_Lease).spec
    return _with(found, msgspec.structs.replace(spec, holder_identity="", renew_time=time))


def _with(found: Seen, spec: _Spec) -> bytes:
    """Replace the specification and leave what others wrote; the version makes the server refuse old news."""
    fields: dict[str, msgspec.Raw] = msgspec.json.decode(found.body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**fields, "spec": spec})
