"""The devices that execute PTX: the protocol, the emulator, CUDA, recording and playback."""
