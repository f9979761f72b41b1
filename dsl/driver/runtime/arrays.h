// The texels of CUDA arrays and textures.
#pragma once
#include "runtime.h"

// cudaChannelFormatDesc: bits of each component, and how they are read.
struct Channels { int bits[4], kind; };

// Give a description the format and the number of components.
Error convert_channels(const Channels &channels, ArrayDescriptor *description);
