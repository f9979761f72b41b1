// This library in a Python process that has the device: functions of Python answer in the place of the helper, and
// device memory is memory of the process. The process may fork. It may have several devices, one after another.
#pragma once
#include "helper.h"
#include "modules.h"

namespace driver {

bool is_in_process();
bool python_answers();  // for a device, now
bool python_has_ended();

// NO_DEVICE between two devices.
Result refused_in_process();

// Whether the process has what begins the driver and makes its primary context current: torch.
bool has_torch();
// Whether a thread without a context has the primary one.
bool defaults_to_primary();

// Ask Python; UNKNOWN if it has ended.
Result ask_python(Op op, const Bytes &bytes, Answer *answer);
Result ask_python(Op op, u64 first, u64 second, Answer *answer);

// Make a launch in machine code, and note it for Python. False if Python makes it: also the first one for a device.
bool launch_again(const Launch &launch, const Repeat &repeat, Result *result);
u64 device_number();  // each device of the process has another one

// Give up the lock of Python while the thread waits for ours: who has ours may be calling Python.
void *give_up_python();
void take_python_back(void *given_up);

}  // namespace driver
