// Where measured ceilings are kept.
#ifndef SPIRLOOM_TOOLS_CEILINGS_CEILINGS_FILE_H_
#define SPIRLOOM_TOOLS_CEILINGS_CEILINGS_FILE_H_

#include <optional>
#include <string>

#include "spirloom/runtime.h"
#include "tools/ceilings/ceilings.h"

namespace spirloom::ceilings {

// The file of a device and its driver in a folder for caches (RuntimeOptions::cache_dir); empty for
// "none", and where there is no folder.
std::string CeilingsPath(const std::string& cache_dir, const DeviceInfo& device);

// What WriteCeilings() wrote; nothing for no file, another format's, and a damaged one.
std::optional<Ceilings> ReadCeilings(const std::string& path);

// A file that cannot be written is no error: it would only have saved time.
void WriteCeilings(const std::string& path, const Ceilings& found);

}  // namespace spirloom::ceilings

#endif  // SPIRLOOM_TOOLS_CEILINGS_CEILINGS_FILE_H_
