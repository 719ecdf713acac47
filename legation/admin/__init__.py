"""What the admin port answers: health, readiness, and the JSON that the commands read."""
