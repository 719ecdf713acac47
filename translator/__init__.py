"""Gateway API objects in, Envoy resources and statuses out: pure, without IO, clock or log."""
