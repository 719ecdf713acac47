"""The Envoys that Legation runs itself."""
