"""Legation beside its peers, in one run and on the same manifests: `make bench ON=peers`."""
