"""The small words of the Gateway API: names, hosts, ports, durations, each with what it must look like.

Every pattern is written so that it never looks back: a hostile string costs time linear in its length.
"""

import re
from ipaddress import ip_address
from typing import Annotated

from translator.objects.constraints import Between, Text

_LABEL = r"[a-z0-9](?:-*+[a-z0-9])*+"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*+"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

DNS_LABEL = re.compile(_LABEL)
DNS_DOMAIN = re.compile(_DOMAIN)
QUALIFIED_NAME = re.compile(rf"(?:{_DOMAIN}/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-_.]*+[A-Za-z0-9])*+)?")
HOSTNAME = re.compile(rf"(?:\*\.)?{_DOMAIN}")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")  # what HTTP calls a token

_DOMAIN_MEANS = "a DNS name in lower case, such as example.com"

ObjectName = Annotated[str, Text(1, 253)]
Namespace = Annotated[
    str, Text(1, 63, DNS_LABEL, "a DNS label: lower-case letters, digits and inner hyphens")
]
SectionName = Annotated[str, Text(1, 253, DNS_DOMAIN, "a name in lower case, such as https or web.main")]
Group = Annotated[
    str,
    Text(0, 253, re.compile(rf"(?:{_DOMAIN})?"), "an API group in lower case, or empty for Kubernetes' core"),
]
Kind = Annotated[
    str,
    Text(1, 63, re.compile(r"[a-zA-Z](?:-*+[a-zA-Z0-9])*+"), "a kind, such as Service: letters and digits"),
]
PortNumber = Annotated[int, Between(1, 65535)]

Hostname = Annotated[
    str,
    Text(
        1,
        253,
        HOSTNAME,
        "a DNS name in lower case, such as example.com or *.example.com",
    ),
]
PreciseHostname = Annotated[str, Text(1, 253, DNS_DOMAIN, f"{_DOMAIN_MEANS}, without a wildcard")]
AbsoluteURI = Annotated[
    str,
    Text(
        1, 253, re.compile(r"(?s:[^:/?#]+://.*)"), "a URI with its scheme, such as spiffe://example.com/shop"
    ),
]

GatewayController = Annotated[
    str,
    Text(
        1,
        253,
        re.compile(rf"{_DOMAIN}/{_PATH}"),
        "a domain and a path, such as example.com/gateway-controller",
    ),
]
WellKnownCACertificates = Annotated[
    str,
    Text(
        1,
        253,
        re.compile(rf"System|{_DOMAIN}/(?:[A-Za-z0-9][-A-Za-z0-9_.]{{0,61}})?[A-Za-z0-9]"),
        "System, or a name with a domain in front, such as example.com/roots",
    ),
]
# The published pattern anchors only its ends: the middle alternatives may stand anywhere in the value.
AddressType = Annotated[
    str,
    Text(
        1,
        253,
        re.compile(rf"(?s:Hostname.*|.*IPAddress.*|.*NamedAddress.*|.*[a-z0-9]/{_PATH})"),
        "IPAddress, Hostname, NamedAddress, or a name with a domain in front",
    ),
]
ProtocolType = Annotated[
    str,
    Text(
        1,
        255,
        re.compile(r"[a-zA-Z0-9](?:-*+[a-zA-Z0-9])*+|(?s:.*[a-z0-9]/[A-Za-z0-9]+)"),
        "HTTP, HTTPS, TLS, TCP, UDP, or a name with a domain in front",
    ),
]

HeaderName = Annotated[str, Text(1, 256, HEADER_NAME, "an HTTP header name")]
HeaderValue = Annotated[
    str,
    Text(
        1, 4096, re.compile(r"[!-~](?:[\t ]?[!-~])*+"), "visible ASCII, with single blanks only between words"
    ),
]
CORSOrigin = Annotated[
    str,
    Text(
        1,
        253,
        re.compile(r"\*|https?://(?:(?:\*\.)?[a-zA-Z0-9\-](?:\.?[a-zA-Z0-9\-])*+|\*)(?::[0-9]{1,5})?"),
        "*, or a scheme and a host, such as https://*.example.com:8443",
    ),
]
Duration = Annotated[
    str,
    Text(0, None, re.compile(r"(?:[0-9]{1,5}(?:h|ms|m|s)){1,4}"), "a duration, such as 500ms, 10s or 1h30m"),
]
AuthPath = Annotated[
    str,
    Text(
        0, 1024, re.compile(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})++"), "a path without ? or #"
    ),
]

Description = Annotated[str, Text(0, 64)]
PathValue = Annotated[str, Text(0, 1024)]
QueryValue = Annotated[str, Text(1, 1024)]
MatchValue = Annotated[str, Text(1, 4096)]
AnnotationValue = Annotated[str, Text(0, 4096)]
LabelValue = Annotated[
    str,
    Text(
        0,
        63,
        LABEL_VALUE,
        "empty, or letters, digits and inner hyphens, underscores and dots",
    ),
]


def is_address(text: str) -> bool:
    """Say whether a text is an IP address, of either family."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
