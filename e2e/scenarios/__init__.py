"""What an operator fears, done to Legation as its chart installs it, under traffic that is counted."""
