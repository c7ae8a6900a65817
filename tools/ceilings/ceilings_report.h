#ifndef SPIRLOOM_TOOLS_CEILINGS_CEILINGS_REPORT_H_
#define SPIRLOOM_TOOLS_CEILINGS_CEILINGS_REPORT_H_

#include <string>

#include "spirloom/runtime.h"
#include "tools/ceilings/ceilings.h"

namespace spirloom::ceilings {

// A table for people.
std::string CeilingsTable(const DeviceInfo& device, const Ceilings& found);

// An object with the fields of Ceilings beside "device" and "driver".
std::string CeilingsJson(const DeviceInfo& device, const Ceilings& found);

}  // namespace spirloom::ceilings

#endif  // SPIRLOOM_TOOLS_CEILINGS_CEILINGS_REPORT_H_
