"""What each way to a backend proves: shown, recorded whenever it changes, and watched until it ends."""
