"""tvm.backend.cuda.lang, of which names may be imported."""
