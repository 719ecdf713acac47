"""What is asked of the named values in ConfigMaps and Secrets, and of bundles of trust."""

import re
from collections.abc import Iterable, Iterator

from translator.objects.admission.compare import shortened
from translator.objects.admission.finding import Finding, rules_of
from translator.objects.admission.metadata import is_domain
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.secret import Secret, from_base64

_KEY = re.compile(r"(?!\.{1,2}$)(?!\.\.)[-._a-zA-Z0-9]{1,253}")
_MOST_BYTES = 1024 * 1024
_TLS_KEYS = ("tls.crt", "tls.key")


def config_map_keys_are_file_names(config: ConfigMap) -> Iterator[Finding]:
    """A key could be the name of a file."""
    yield from _keys("data", config.data)
    yield from _keys("binaryData", config.binary_data)
    for key in config.data.keys() & config.binary_data.keys():
        yield Finding(f"binaryData[{shortened(key)}]", "is in data as well: remove one")


def secret_keys_are_file_names(secret: Secret) -> Iterator[Finding]:
    """A key could be the name of a file."""
    yield from _keys("data", secret.data)
    yield from _keys("stringData", secret.string_data)


def _keys(field: str, keys: Iterable[str]) -> Iterator[Finding]:
    for key in keys:
        if not _KEY.fullmatch(key):
            yield Finding(
                f"{field}[{shortened(key)}]",
                "must have a key of letters, digits, hyphens, underscores and dots",
            )


def binary_data_is_base64(config: ConfigMap) -> Iterator[Finding]:
    """Bytes are written in base64, and all values together are not too long."""
    yield from _base64("binaryData", config.binary_data)
    yield from _not_too_long([*config.data.values(), *config.binary_data.values()])


def secret_data_is_base64(secret: Secret) -> Iterator[Finding]:
    """Values are written in base64, and all together are not too long."""
    for finding in _base64("data", secret.data):
        yield Finding(finding.path, f"{finding.message}; or put the plain text under stringData")
    yield from _not_too_long([*secret.data.values(), *secret.string_data.values()])


def _base64(field: str, values: dict[str, str]) -> Iterator[Finding]:
    for key, text in values.items():
        if from_base64(text) is None:
            yield Finding(f"{field}[{shortened(key)}]", "must be base64")


def _not_too_long(values: list[str]) -> Iterator[Finding]:
    size = sum(len(value) for value in values)
    if size > _MOST_BYTES:
        yield Finding("data", f"must have at most {_MOST_BYTES} bytes, and has {size}")


def a_certificate_has_its_key(secret: Secret) -> Iterator[Finding]:
    """A Secret for TLS has the two values that make one."""
    if secret.type == "kubernetes.io/tls":
        for key in _TLS_KEYS:
            if key not in secret.data and key not in secret.string_data:
                yield Finding(f"data[{key}]", "is required where type is kubernetes.io/tls")


def a_bundle_is_named_by_its_signer(bundle: ClusterTrustBundle) -> Iterator[Finding]:
    """The bundle of a signer begins with the signer's name; a bundle of nobody has no colon."""
    signer = bundle.spec.signer_name.replace("/", ":")
    prefix = f"{signer}:" if signer else ""
    own = bundle.metadata.name.removeprefix(prefix)
    if not bundle.metadata.name.startswith(prefix) or not is_domain(own):
        yield Finding("metadata.name", f"must be {prefix}NAME, where NAME is a DNS name in lower case")


CHECKS = (
    rules_of(ConfigMap, config_map_keys_are_file_names, binary_data_is_base64),
    rules_of(Secret, secret_keys_are_file_names, secret_data_is_base64, a_certificate_has_its_key),
    rules_of(ClusterTrustBundle, a_bundle_is_named_by_its_signer),
)
