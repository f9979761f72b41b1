// Copies in the driver's form, for streams and for graphs.
#pragma once
#include "runtime.h"

// The driver's form of a three-dimensional copy.
Error convert_copy(const Copy3D &copy, DriverCopy3D *converted);
// The runtime's form of the driver's copy.
Copy3D convert_copy_back(const DriverCopy3D &copy);
// A copy of bytes in a row.
Copy3D linear_copy(void *target, const void *source, size_t bytes, CopyKind kind);
