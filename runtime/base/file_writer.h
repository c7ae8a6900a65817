// Whole files out: a reader, or a process that comes after a crash, finds the old file or the new
// one, never a part.
#ifndef SPIRLOOM_RUNTIME_BASE_FILE_WRITER_H_
#define SPIRLOOM_RUNTIME_BASE_FILE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "spirloom/status.h"

namespace spirloom {

// Whether the file must be there even if the machine stops at once, which takes the disk's time.
// Files that can be made again, and that name their own damage, are kFast.
enum class Durability : uint8_t { kFast, kSynced };

// Puts `pieces`, one after another, in the place of the file at `path`, keeping its permissions; a
// symbolic link stays and what it leads to is replaced. What is no regular file (a pipe, /dev/null)
// is written to. Fails with kInvalidArgument, naming the path and the system's reason; what was
// there then remains. A limit on the size of files is such a reason, and sends no SIGXFSZ.
Status ReplaceFile(const std::string& path,
                   std::initializer_list<std::span<const std::byte>> pieces, Durability durability);

// Removes from `folder` ("" is the current one) what ReplaceFile() left behind in processes that
// were killed.
void RemoveOrphans(const std::string& folder);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_FILE_WRITER_H_
