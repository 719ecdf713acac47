"""Objects out of an API server, of any type; knows nothing of Gateway API."""
