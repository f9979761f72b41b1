"""Many GPUs and many hosts: slots, where they come from, and who runs what."""
