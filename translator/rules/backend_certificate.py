"""The certificate that a Gateway shows to backends, wherever a policy has it open TLS.  GEP-3155.

One Gateway's certificate is no other's, so a backend is reached in as many ways as there are certificates to
show. Where the one that was asked for cannot be shown, connections that would show it fail.
"""

from typing import NamedTuple

from translator.memo import query
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.references import GATEWAY_GROUP
from translator.objects.secret import Secret
from translator.rules.backends import Backend
from translator.rules.certificates import own_certificate
from translator.rules.grants import Pointee, Pointer, permitted
from translator.verdict import Refused
from translator.world import World

FIELD = "spec.tls.backend.clientCertificateRef"
BAD_REFERENCE = "InvalidClientCertificateRef"


class Hop(NamedTuple):
    """A backend as one Gateway reaches it: what is shown there, or what keeps it from being reached."""

    backend: Backend
    shown: Name | Refused | None = None  # where no policy opens TLS, there is nothing to show
    forbidden: Refused | None = None  # why this Gateway may not lead there

    def __str__(self) -> str:
        """Name the cluster as its backend is named: a Gateway's Envoys know one way to each."""
        return str(self.backend)


@query
def shown(world: World, gateway: Name) -> Name | Refused | None:
    """Return the Secret whose certificate a Gateway shows to backends, if it is to show any."""
    tls = world.must(Gateway, gateway).spec.tls
    ref = tls.backend.client_certificate_ref if tls and tls.backend else None
    if ref is None:
        return None
    name = Name(ref.namespace or gateway.namespace, ref.name)
    if (ref.group, ref.kind) != ("", "Secret"):
        return Refused(BAD_REFERENCE, f"{FIELD}: {ref.kind} {name} of group {ref.group!r} is no Secret")
    if not permitted(
        world, Pointer(GATEWAY_GROUP, "Gateway", gateway.namespace), Pointee("", "Secret", name)
    ):
        return Refused("RefNotPermitted", f"{FIELD}: no ReferenceGrant allows Secret {name}")
    if world.get(Secret, name) is None:
        return Refused(BAD_REFERENCE, f"{FIELD}: Secret {name} does not exist")
    pair = own_certificate(world, name)
    return Refused(BAD_REFERENCE, f"{FIELD}: {pair.message}") if isinstance(pair, Refused) else name
