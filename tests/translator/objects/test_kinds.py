"""Objects as the API server sends them, and as they are written back."""

import msgspec
import pytest
from msgspec import Raw

from translator.names import Name
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.http_route import HTTPRoute, HTTPRouteMatch
from translator.objects.kinds import KINDS, KindInfo, as_manifest, find_kind, kind_of, name_of
from translator.objects.secret import Secret
from translator.objects.service import Service


@pytest.mark.parametrize("info", KINDS, ids=lambda info: info.kind)
def test_every_kind_is_found_in_every_version(info: KindInfo) -> None:
    for version in info.versions:
        assert find_kind(info.api_version(version), info.kind) is info


def test_no_other_kind_is_found() -> None:
    assert find_kind("v1", "Pod") is None
    assert find_kind("gateway.networking.k8s.io/v1", "Service") is None


@pytest.mark.parametrize("info", KINDS, ids=lambda info: info.kind)
def test_an_object_from_a_typed_list_is_of_the_preferred_version(info: KindInfo) -> None:
    [version] = [field.default for field in msgspec.structs.fields(info.type) if field.name == "api_version"]
    assert version == info.api_version(info.versions[0])


def test_defaults_of_the_crd_are_there_without_being_written() -> None:
    route = msgspec.json.decode('{"metadata": {"name": "a"}, "spec": {"rules": [{}]}}', type=HTTPRoute)
    [rule] = route.spec.rules
    assert rule.matches == (HTTPRouteMatch(),)
    assert (rule.matches[0].path.type, rule.matches[0].path.value) == ("PathPrefix", "/")
    parameters = msgspec.json.decode('{"metadata": {"name": "a"}}', type=GatewayParameters)
    assert parameters.spec.backend_tls.insecure_verification == "Forbid"
    assert parameters.spec.proxies is None, "unset is not Managed: a class or a Gateway may still say it"


def test_a_newer_api_server_is_understood_as_far_as_possible() -> None:
    rule = '{"filters": [{"type": "New", "new": {}}]}'
    newer = f'{{"metadata": {{"name": "a", "new": 1}}, "spec": {{"rules": [{rule}]}}}}'
    route = msgspec.json.decode(newer, type=HTTPRoute)
    assert route.spec.rules[0].filters[0].type == "New"


def test_a_slice_without_endpoints_is_read_as_the_api_server_writes_it() -> None:
    text = '{"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": null, "ports": null}'
    slice_ = msgspec.json.decode(text, type=EndpointSlice)
    assert (slice_.endpoints, slice_.ports) == (None, None)


def test_a_status_is_kept_byte_for_byte() -> None:
    text = b'{"metadata":{"name":"a"},"status":{"loadBalancer" : { }}}'
    service = msgspec.json.decode(text, type=Service)
    assert bytes(service.status) == b'{"loadBalancer" : { }}'
    assert service == msgspec.json.decode(text, type=Service)
    assert not bytes(msgspec.json.decode(b'{"metadata":{"name":"a"}}', type=Service).status)


def test_a_manifest_is_written_with_version_and_kind_and_without_defaults() -> None:
    text = '{"metadata": {"name": "a", "namespace": "b"}, "spec": {"ports": [{"port": 80}]}}'
    service = msgspec.json.decode(text, type=Service)
    assert kind_of(service).kind == "Service"
    assert name_of(service) == Name("b", "a")
    assert as_manifest(service) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"ports": [{"port": 80}]},
    }
    assert as_manifest(msgspec.structs.replace(service, status=Raw(b"{}")))["status"] == {}


def test_a_secret_is_decoded_when_asked_and_shows_nothing() -> None:
    data = '{"good": "eHl6\\n", "bad": "eHl6?", "worse": "é"}'
    text = f'{{"metadata": {{"name": "a", "namespace": "b"}}, "data": {data}}}'
    secret = msgspec.json.decode(text, type=Secret)
    assert [secret.value(key) for key in ("good", "bad", "worse", "none")] == [b"xyz", None, None, None]
    assert msgspec.structs.replace(secret, string_data={"good": "plain"}).value("good") == b"plain"
    assert repr(secret) == "Secret(b/a: bad, good, worse)"
