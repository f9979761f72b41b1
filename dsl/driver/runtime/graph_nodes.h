// Parameters of graph nodes in the driver's form.
#pragma once
#include "copies.h"

Error convert_kernel_node(const KernelNode *node, DriverKernelNode *converted);
Error current_context(Context *context);
