"""Kubernetes objects as frozen structs, one module a kind."""
