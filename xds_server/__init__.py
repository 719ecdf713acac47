"""Named, versioned bytes to Envoys; knows neither Kubernetes nor Gateway API."""
