"""What the specification says, one concept a module; knows nothing of Envoy."""
