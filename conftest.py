"""The plugin itself comes through the entry point `gpu-repro`; here is only what its own tests need."""

pytest_plugins = ["pytester"]
