"""What went wrong, in words: faults, what the checkers found, where the warps are."""
