"""Fail unless all four packages come from where the wheel was installed, and not from a source tree."""

import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("legation", "k8s_watch", "translator", "xds_server")


def strays() -> list[str]:
    """Return what stands anywhere else, or nowhere."""
    home = Path(sysconfig.get_path("purelib"))
    found = {name: find_spec(name) for name in PACKAGES}
    return [
        f"{name} is not in {home}"
        for name, spec in found.items()
        if not spec or not in_folder(home, spec.origin)
    ]


def in_folder(folder: Path, origin: str | None) -> bool:
    """Return whether a module was found under a folder."""
    return origin is not None and Path(origin).is_relative_to(folder)


if __name__ == "__main__":
    sys.path[0] = str(Path.cwd())  # what pytest's `pythonpath` puts there
    sys.exit("\n".join(strays()) or None)
