"""Finding the version that changed an answer: `repro bisect`."""
