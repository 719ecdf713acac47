"""Whatever is pasted where certificates belong: judged at a bounded cost, told with a remedy, kept secret."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.envoy_validate import validate
from tests.poison.der import (
    ALGORITHMS,
    BMP,
    EXTENSIONS,
    KEYS,
    TELETEX,
    USUAL,
    UTF8,
    certificate,
    many_names,
    named,
    short_rsa,
    spki,
)
from tests.poison.effort import steps
from tests.poison.pems import Writing, pem, secret_lines, stock, things, writings
from tests.poison.spells import TENANT
from tests.poison.tenants import SHARED, first_at_the_shared_door, portrait, world_of
from tests.translator.test_statuses_any_world import lists
from translator.envoy.resource import SECRET
from translator.objects.kinds import name_of
from translator.rules.certificates import LONGEST_BUNDLE, Bundle, read_bundle
from translator.rules.status import ListenerSetStatus, PolicyStatus
from translator.translate import Translation, Translator, translate

DEPRECATED = "cryptography.utils.CryptographyDeprecationWarning"
# What a library only warns of, such as too long a name, is accepted: the tests have to see it accepted.
pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("UserWarning", DEPRECATED)]

REMEDY = ": "
LONGEST_JUDGEMENT = (
    120.0  # seconds of the processor: mostly it is less than one, what grows as a square never ends
)
STEPS_OF_A_BYTE = 10
seldom_slow = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def refusals(translation: Translation) -> Iterator[tuple[str, str]]:
    """Yield what is said of each object that cannot be read: its name, and the message."""
    for ref, status in translation.statuses.items():
        match status:
            case PolicyStatus() if ref.name.namespace == TENANT:
                said = (each for some in lists(status) for each in some if each.type == "ResolvedRefs")
                yield from ((f"roots{ref.name.name[1:]}", each.message) for each in said if not each.status)
            case ListenerSetStatus() if ref.name.namespace == TENANT:
                for listener in status.listeners:
                    said = (each for each in listener.conditions if each.type == "ResolvedRefs")
                    yield from (
                        (f"edge{listener.name[1:]}", each.message) for each in said if not each.status
                    )


some_writings = st.lists(writings(), min_size=1, max_size=4)


@settings(seldom_slow, max_examples=60)
@given(some_writings)
def test_a_verdict_names_object_and_remedy_and_nobody_else_notices(some: list[Writing]) -> None:
    world = world_of()
    translator = Translator(world)
    before = translator.translate()
    for thing in things(some):
        world.put(type(thing), name_of(thing), thing)
    during = translator.translate()
    assert not during.broken
    assert portrait(during) == portrait(before)
    assert first_at_the_shared_door(during) == first_at_the_shared_door(before)
    for name, message in refusals(during):
        assert f"{TENANT}/{name} " in message.replace(":", " ")
        assert REMEDY in message


@settings(seldom_slow, max_examples=60)
@given(some_writings)
def test_a_private_key_goes_only_to_the_envoys_that_show_its_certificate(some: list[Writing]) -> None:
    translation = translate(world_of(things(some)))
    shown = repr(translation.statuses).encode() + b"".join(
        resource.body
        for resources in translation.gateways.values()
        for kind, each in resources.items()
        for name, resource in each.items()
        if kind != SECRET or not name.startswith("certificate/")
    )
    assert [line for line in secret_lines() if line in shown] == []


@settings(seldom_slow, max_examples=25)
@given(some_writings)
def test_envoy_reads_whatever_is_accepted(some: list[Writing]) -> None:
    resources = translate(world_of(things(some))).gateways[SHARED]
    validate({kind: {name: each.body for name, each in named.items()} for kind, named in resources.items()})


def own(*extensions: str, key: str = "P-256", subject: bytes = USUAL, **odd: bytes) -> bytes:
    """Write a certificate that stands for itself."""
    named = [EXTENSIONS[each] for each in extensions]
    return certificate(KEYS[key], named, names=(subject, subject), **odd)


@pytest.mark.parametrize(
    ("der", "taken"),
    [
        pytest.param(own(), True, id="usual"),
        pytest.param(
            own(key="RSA 512", algorithm=ALGORITHMS["RSA with SHA-1"]), True, id="RSA 512 with SHA-1"
        ),
        pytest.param(own(subject=named((UTF8, "\U0001f512".encode()))), True, id="an emoji"),
        pytest.param(own(subject=named((BMP, "Zo\xeb".encode("utf-16-be")))), True, id="BMP"),
        pytest.param(
            own(subject=named((BMP, "\U0001f512".encode("utf-16-be")))), False, id="an emoji in BMP"
        ),
        pytest.param(own(subject=named((UTF8, "\ufdd0".encode()))), False, id="no letter"),
        pytest.param(own(subject=named((TELETEX, b"a.test"))), True, id="Teletex"),
        pytest.param(own(subject=named((UTF8, b"x" * 5000))), True, id="a long name"),
        pytest.param(own(serial=b"\xff"), True, id="a serial number below zero"),
        pytest.param(own(version=b""), True, id="version 1"),
        pytest.param(own("authority", version=b""), False, id="version 1 with extensions"),
        pytest.param(own("broken names"), False, id="broken names"),
        pytest.param(own("no usage"), True, id="no usage"),
    ],
)
def test_of_odd_certificates_those_are_taken_that_envoy_takes(der: bytes, *, taken: bool) -> None:
    bundle = read_bundle(pem("CERTIFICATE", der).decode())
    assert isinstance(bundle, Bundle)
    assert bool(bundle.anchors) == taken
    assert bool(bundle.broken) != taken


@pytest.mark.parametrize(
    ("extensions", "subject", "says"),
    [
        (("signs certificates",), USUAL, "issue it with digitalSignature"),
        (("must staple",), USUAL, "issue it without must-staple"),
        ((), named(), "issue it with the hostnames"),
        (("no names",), named(), "issue it with the hostnames"),
        ((), named((UTF8, b"")), "issue it with the hostnames"),
        (("names",), named(), ""),
        (("names", "for servers"), USUAL, ""),
    ],
    ids=("key usage", "must-staple", "no name", "an empty list", "an empty name", "a hostname", "a server"),
)
def test_a_certificate_that_envoy_would_not_show_says_why(
    extensions: tuple[str, ...], subject: bytes, says: str
) -> None:
    public = spki(stock().good.key.public_key())
    shown = certificate(public, [EXTENSIONS[each] for each in extensions], names=(subject, subject))
    translation = translate(world_of(things([Writing(b"", pem("CERTIFICATE", shown), stock().secrets[0])])))
    found = dict(refusals(translation)).get("edge0", "")
    assert says in found
    assert bool(says) == bool(found)


@pytest.mark.parametrize(
    "text",
    [
        pem("CERTIFICATE", own()) * 1000,
        pem("CERTIFICATE", own("huge", "names")) * 12,
        pem("CERTIFICATE", own(subject=named((UTF8, b"x" * 350_000)))),
        pem("CERTIFICATE", own(subject=named(*[(UTF8, b"x")] * 25_000))),
        pem("CERTIFICATE", certificate(short_rsa(5_000_000), names=(USUAL, USUAL))),
        pem("CERTIFICATE", certificate(KEYS["P-256"], [many_names(60_000)], names=(USUAL, USUAL))),
        b"-----BEGIN CERTIFICATE-----" * (LONGEST_BUNDLE // 27),
        b"-----END CERTIFICATE-----" * (LONGEST_BUNDLE // 25),
        b"-" * LONGEST_BUNDLE,
        b"-----BEGIN " * (LONGEST_BUNDLE // 11),
        b"-----BEGIN CERTIFICATE-----" + b" \n" * (LONGEST_BUNDLE // 2 - 40) + b"-----END CERTIFICATE-----",
    ],
    ids=(
        "certificates",
        "extensions",
        "a long name",
        "a name of many parts",
        "a long key",
        "many names",
        "beginnings",
        "ends",
        "dashes",
        "half beginnings",
        "blanks",
    ),
)
def test_the_most_costly_text_within_the_limits_is_judged_in_good_time(text: bytes) -> None:
    assert len(text) <= LONGEST_BUNDLE
    began = time.process_time()
    assert steps(lambda: read_bundle(text.decode())) < STEPS_OF_A_BYTE * len(text)
    assert time.process_time() - began < LONGEST_JUDGEMENT
