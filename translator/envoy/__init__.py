"""Plans into Envoy's messages: the translator's only folder that imports protobuf."""
