"""The fields of objects that are honoured here, named as in the Kubernetes API."""
