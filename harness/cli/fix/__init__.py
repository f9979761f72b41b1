"""The command `repro fix`."""
