"""Ways to lay out the same routes for an Envoy."""
