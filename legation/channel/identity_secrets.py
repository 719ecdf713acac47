"""The Secrets that hold the xDS channel's authority and identities: written as manifests, and read again."""

from base64 import b64encode
from collections.abc import Mapping

from legation.channel.authority import Credential, read
from legation.channel.rotation import bundle
from legation.proxies.belonging import PART_OF, belonging
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.kinds import name_of
from translator.objects.secret import Secret
from translator.rules.managed import proxy_name

CERTIFICATE, KEY, ROOTS = "tls.crt", "tls.key", "ca.crt"
MOST_ROOTS = 8  # there are two during a rotation; a few more if somebody set the clock

Manifest = dict[str, object]


def authority_secret(name: Name, roots: tuple[Credential, ...], version: str = "") -> Manifest:
    """Write the roots with their keys, which only the control plane may read; over a version, if any."""
    values = {ROOTS: bundle(roots)}
    for number, root in enumerate(roots[-MOST_ROOTS:]):
        values |= {f"root-{number}.crt": root.certificate, f"root-{number}.key": root.key}
    metadata: Manifest = {"name": name.name, "namespace": name.namespace, "labels": {PART_OF: "legation"}}
    return _secret(metadata | ({"resourceVersion": version} if version else {}), "Opaque", values)


def proxy_secret(gateway: Gateway, leaf: Credential, roots: tuple[Credential, ...]) -> Manifest:
    """Write what a Gateway's Envoys show, and whom they believe."""
    values = {CERTIFICATE: leaf.certificate, KEY: leaf.key, ROOTS: bundle(roots)}
    return _secret(belonging(gateway, proxy_name(name_of(gateway)).name), "kubernetes.io/tls", values)


def roots_of(secret: Secret) -> tuple[Credential, ...]:
    """Read the roots that a Secret holds; what is none of ours is passed over."""
    pairs = ((secret.value(f"root-{n}.crt"), secret.value(f"root-{n}.key")) for n in range(MOST_ROOTS))
    return tuple(root for pair in pairs if (root := read(*pair)) is not None and root.is_root)


def leaf_of(secret: Secret) -> Credential | None:
    """Read the certificate that a Secret holds, if it holds one with its key."""
    return read(secret.value(CERTIFICATE), secret.value(KEY))


def _secret(metadata: Manifest, kind: str, values: Mapping[str, str]) -> Manifest:
    data = {key: b64encode(value.encode()).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data}
