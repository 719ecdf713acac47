"""Legation on this machine, with backends and certificates made while you watch: `make demo`, `make try`."""
