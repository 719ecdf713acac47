"""Why something is or is not served: one reading of the world, for files and for what runs."""
