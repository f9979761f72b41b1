"""The command `repro outcomes`."""
