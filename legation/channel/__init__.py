"""Who may speak on the xDS channel: its authority, its certificates, and what is taken back."""
