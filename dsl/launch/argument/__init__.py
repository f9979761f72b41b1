"""Arguments of calls: what is taken, how each kind is passed, and what comes back."""
