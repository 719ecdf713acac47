"""A Kubernetes API for tests on a machine without containers: `python -m e2e.cluster up`."""
