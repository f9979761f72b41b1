"""tvm.backend.cuda, of which names may be imported."""
