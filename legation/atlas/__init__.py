"""What is served, from Gateway to backend, as people look at it: places, ways and portraits of objects."""
