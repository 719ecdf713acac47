"""What is read out of an API server's answers, and what is said of those that cannot be read."""

import msgspec
import pytest

from k8s_watch.answers import (
    BROKEN,
    Bookmark,
    Failed,
    Item,
    Page,
    Removed,
    read_event,
    read_events,
    read_failure,
    read_item,
    read_page,
    read_resources,
)
from k8s_watch.kind import Kind, ObjectName, Place

BODY = b'{"metadata":{"name":"a","namespace":"shop","resourceVersion":"7"},"size":1}'
NAME = ObjectName("shop", "a")


def test_an_object_is_kept_as_the_bytes_that_came() -> None:
    assert read_item(BODY) == Item(NAME, "7", msgspec.Raw(BODY))


@pytest.mark.parametrize("items", [b"null", b"[]"])
def test_a_page_may_be_empty(items: bytes) -> None:
    page = read_page(b'{"metadata":{"resourceVersion":"9"},"items":' + items + b"}")
    assert page == Page((), "9")


def test_a_page_says_how_to_get_the_next() -> None:
    page = read_page(b'{"metadata":{"resourceVersion":"9","continue":"x"},"items":[' + BODY + b"]}")
    assert page == Page((Item(NAME, "7", msgspec.Raw(BODY)),), "9", "x")


@pytest.mark.parametrize("kind", [b"ADDED", b"MODIFIED"])
def test_an_event_is_the_object_as_it_is_now(kind: bytes) -> None:
    assert read_event(b'{"type":"' + kind + b'","object":' + BODY + b"}") == read_item(BODY)


def test_an_event_may_say_that_an_object_is_gone() -> None:
    assert read_event(b'{"type":"DELETED","object":' + BODY + b"}") == Removed(NAME, "7")


@pytest.mark.parametrize(("annotation", "ends"), [(b'"true"', True), (b'"false"', False)])
def test_a_bookmark_may_end_a_list(annotation: bytes, *, ends: bool) -> None:
    metadata = b'{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":' + annotation + b"}}"
    assert read_event(b'{"type":"BOOKMARK","object":{"metadata":' + metadata + b"}}") == Bookmark("9", ends)


def test_events_before_a_broken_line_count() -> None:
    line = b'{"type":"ADDED","object":' + BODY + b"}"
    item, failed = read_events([line, b"{", line])
    assert item == read_item(BODY)
    assert isinstance(failed, Failed)
    assert failed.code == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'{"metadata":{}}',
        b'{"metadata":{"name":"","resourceVersion":"1"}}',
        b'{"metadata":{"name":"a","resourceVersion":""}}',
        b'{"metadata":{"name":"\xff","resourceVersion":"1"}}',
    ],
)
def test_an_object_without_a_name_or_a_version_is_broken(body: bytes) -> None:
    with pytest.raises(BROKEN):
        read_item(body)


@pytest.mark.parametrize(
    ("body", "header", "failed"),
    [
        (b'{"message":"no","code":500}', "", Failed(503, "no")),
        (b'{"reason":"Expired"}', "", Failed(503, "Expired")),
        (b'{"details":{"retryAfterSeconds":4}}', "", Failed(503, "HTTP 503", 4.0)),
        (b'{"details":{"retryAfterSeconds":4}}', "9", Failed(503, "HTTP 503", 9.0)),
        (b"<html>Bad gateway</html>", "", Failed(503, "HTTP 503")),
        (b"\xff", "Fri, 31 Dec 1999 23:59:59 GMT", Failed(503, "HTTP 503")),
    ],
)
def test_a_refusal_says_why_whoever_it_comes_from(body: bytes, header: str, failed: Failed) -> None:
    assert read_failure(503, body, header) == failed


def test_a_version_of_a_group_lists_its_kinds() -> None:
    assert read_resources(b'{"resources":[{"name":"widgets"},{"name":"widgets/status"}]}') == {
        "widgets",
        "widgets/status",
    }
    assert read_resources(b'{"resources":null}') == frozenset()


@pytest.mark.parametrize(
    ("place", "path"),
    [
        (Place("v1", "nodes"), "/api/v1/nodes"),
        (Place("v1", "pods", "shop"), "/api/v1/namespaces/shop/pods"),
        (Place("apps/v1", "deployments", "shop", "a"), "/apis/apps/v1/namespaces/shop/deployments/a"),
        (Place("x.io/v1", "bundles", "", "x.io:a/b"), "/apis/x.io/v1/bundles/x.io%3Aa%2Fb"),
    ],
)
def test_an_object_has_one_path(place: Place, path: str) -> None:
    assert place.path() == path


def test_a_part_of_an_object_is_below_it() -> None:
    assert Place("v1", "pods", "shop", "a").path("status") == "/api/v1/namespaces/shop/pods/a/status"


def test_versions_are_named_as_objects_name_them() -> None:
    assert Kind("", ("v1",), "pods", object).api_versions() == ("v1",)
    assert Kind("x.io", ("v1", "v1beta1"), "bundles", object).api_versions() == ("x.io/v1", "x.io/v1beta1")
