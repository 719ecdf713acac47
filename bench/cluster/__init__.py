"""Whole controllers on a real API server, with the proxies that a Gateway has: `make bench ON=cluster`."""
