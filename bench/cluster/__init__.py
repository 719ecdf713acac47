"""What changes cost on a real API server, with a proxy that a Gateway has: `make bench ON=cluster`."""
