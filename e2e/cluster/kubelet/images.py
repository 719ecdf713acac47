"""What an image name stands for here: a program of this machine, and what else its container sees."""

from collections.abc import Mapping
from fnmatch import fnmatch
from string import Template

import msgspec
from msgspec import Struct, field


class Image(Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of an image's configuration, and the paths of this machine that stand for its layers."""

    match: str
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    user: str = ""
    workdir: str = "/"
    files: dict[str, str] = field(default_factory=dict)  # path in the container: path of this machine

    @property
    def uid(self) -> int | None:
        """The user that the image runs as."""
        return int(self.user.partition(":")[0]) if self.user else None

    @property
    def gid(self) -> int | None:
        """The group that the image runs as."""
        return int(self.user.partition(":")[2]) if ":" in self.user else None


def read(table: str, places: Mapping[str, str]) -> tuple[Image, ...]:
    """Read a table of images, in which `$name` stands for a place of this machine."""
    return msgspec.yaml.decode(Template(table).substitute(places), type=tuple[Image, ...])


def find(images: tuple[Image, ...], name: str) -> Image | None:
    """Give the first entry that the name matches, wherever the image would be pulled from."""
    return next((image for image in images if fnmatch(f"/{name}", image.match)), None)
