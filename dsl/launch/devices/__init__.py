"""What executes PTX: the protocol, the emulator, CUDA, recording and playback."""
