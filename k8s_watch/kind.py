"""Which objects are watched, what they are read as, and where they are in the API."""

from typing import Generic, NamedTuple, TypeVar
from urllib.parse import quote

from msgspec import Struct

T_co = TypeVar("T_co", covariant=True)


class ObjectName(NamedTuple):
    """An object's namespace and name; the namespace is empty where the kind has none."""

    namespace: str
    name: str


class Place(Struct, frozen=True):
    """Where objects of one kind are, or one of them: `apps/v1`, `deployments`, `infra`, `edge`."""

    api_version: str
    plural: str
    namespace: str = ""
    name: str = ""

    def path(self, part: str = "") -> str:
        """Return the path of a request, perhaps of a part such as `status`."""
        namespaced = ("namespaces", self.namespace) if self.namespace else ()
        steps = (*namespaced, self.plural, self.name, part)
        return "/".join([api_root(self.api_version), *(quote(step, safe="") for step in steps if step)])


def api_root(api_version: str) -> str:
    """Return the path below which the kinds of one version are, and at which the server lists them."""
    return f"/{'apis' if '/' in api_version else 'api'}/{api_version}"


class Kind(Struct, Generic[T_co], frozen=True):
    """A kind of object, the versions of it that we can read, best first, and the struct it is read as."""

    group: str
    versions: tuple[str, ...]
    plural: str
    struct: type[T_co]
    namespaced: bool = True
    metadata_only: bool = False  # the server leaves out all but the metadata
    selector: str = ""  # of labels; without one, all objects count

    def api_versions(self) -> tuple[str, ...]:
        """Return the versions as objects name them: `v1`, or `apps/v1`."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)
