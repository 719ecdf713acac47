"""What a Gateway's owner says of the identities that its Envoys show to the control plane."""

from datetime import datetime

from translator.objects.gateway import Gateway
from translator.verdict import Refused

REVOKED_BEFORE = "legation.dev/revoke-identities-before"


def revoked_before(gateway: Gateway) -> datetime | Refused | None:
    """Return before which moment issued identities no longer count, if that was said and can be read."""
    written = gateway.metadata.annotations.get(REVOKED_BEFORE)
    if written is None:
        return None
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        return Refused(
            "Invalid",
            f"annotation {REVOKED_BEFORE}: {written!r} is no time such as 2026-01-31T12:00:00Z, "
            "so no identity was revoked",
        )
    return moment
