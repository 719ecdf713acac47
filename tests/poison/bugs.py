"""Bugs that are planted in the product, as whole processes have them."""

from pathlib import Path

import pytest


def with_bug(site: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have every Python that is started read this before anything else; return a folder for manifests."""
    before, shop = folder / "site", folder / "shop"
    for each in (before, shop):
        each.mkdir()
    (before / "sitecustomize.py").write_text(site)
    monkeypatch.syspath_prepend(before)
    return shop
