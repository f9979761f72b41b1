"""From a traced function to a call: arguments, compilation, and the device that runs the kernels."""
