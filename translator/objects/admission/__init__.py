"""What an API server would refuse, found without one: for manifests in files, not for a cluster's objects."""
