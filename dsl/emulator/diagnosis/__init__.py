"""Reports about a kernel that fails: faults, findings of the checkers, positions of the warps."""
