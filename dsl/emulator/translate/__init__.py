"""A PTX entry as LLVM IR: loops over threads between uniform branches, a loop over whole threads, or coroutines."""
