"""What is built, changed and held, to foretell what more of it would take."""
