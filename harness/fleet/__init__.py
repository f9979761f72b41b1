"""Many GPUs and many hosts: slots, where they come from, and who runs what."""

# What to do about a GPU that another run holds, and how options say it.
BUSY_WAYS = ("wait", "share", "skip")
BUSY_HELP = "a GPU that another run holds: wait for it (default), share it, or skip it and use the others"
