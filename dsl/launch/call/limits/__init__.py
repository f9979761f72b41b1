"""The limits of a launch."""
