"""Languages of others on the emulator: what their compilers and launchers need to find it as a GPU."""
