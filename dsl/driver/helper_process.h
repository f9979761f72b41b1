// How the helper process is started.
#pragma once
#include "api.h"

namespace driver {

// Start it; the result is the program's end of the socket, or -1. `wake` gets the eventfd that wakes it.
int start_helper(int *wake);

}  // namespace driver
