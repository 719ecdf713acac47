"""Why Envoys refuse things, in few words: what Envoy says names files, ports and values, and has no end."""

from types import MappingProxyType

# What each class is known by, in Envoy's own words and in lower case; the first that is met counts.
SIGNS = MappingProxyType({
    "port_not_permitted": ("permission denied",),
    "port_in_use": ("address already in use",),
    "address_not_here": ("cannot assign requested address",),
    "certificate": ("certificate", "private key", "pem", "tls"),
    "unknown_extension": ("registered implementation", "unable to unpack", "type.googleapis.com"),
    "unknown_reference": ("unknown cluster", "unknown virtual", "unable to find"),
    "duplicate": ("duplicate", "multiple filter chains", "only a single wildcard domain"),
    "regex": ("regex",),
    "invalid_value": ("constraint validation failed", "invalid"),
})  # fmt: skip
OF_THE_MACHINE = frozenset({"port_not_permitted", "port_in_use", "address_not_here"})
OTHER = "other"
REASONS = (*SIGNS, OTHER)


def reason(error: str) -> str:
    """Return the class of what an Envoy said."""
    words = error.lower()
    return next((each for each, signs in SIGNS.items() if any(sign in words for sign in signs)), OTHER)
