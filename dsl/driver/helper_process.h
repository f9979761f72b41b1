// How the helper process is started.
#pragma once
#include "api.h"

namespace driver {

// Start it; the result is the program's end of the socket, or -1.
int start_helper();

}  // namespace driver
