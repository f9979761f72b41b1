"""From a traced function to a call: arguments, compilation to PTX and native code, and the device that runs kernels."""
