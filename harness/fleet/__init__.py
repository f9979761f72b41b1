"""Many GPUs and many hosts: slots, where they come from, and who runs what."""

# The ways to deal with a GPU that another run holds, and the help text of the option.
BUSY_WAYS = ("wait", "share", "skip")
BUSY_HELP = "a GPU that another run holds: wait for it (default), share it, or skip it and use the others"
