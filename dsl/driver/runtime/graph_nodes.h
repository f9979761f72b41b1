// Parameters of graph nodes in the driver's form.
#pragma once
#include "copies.h"

struct DriverFillNode { FillNode node; Context context; };

Error convert_kernel_node(const KernelNode *node, DriverKernelNode *converted);
// A one-dimensional copy to or from `variable`, of which `address` gives the part.
Error variable_copy(const void *variable, size_t offset, size_t bytes, void **address);
Error current_context(Context *context);
