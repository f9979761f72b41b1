"""torch's cuda device on the emulator."""
