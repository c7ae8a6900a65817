// Atomic replacement of files: readers, also after a crash, find the old file or the new one, never
// a part.
#ifndef SPIRLOOM_RUNTIME_BASE_FILE_WRITER_H_
#define SPIRLOOM_RUNTIME_BASE_FILE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "spirloom/status.h"

namespace spirloom {

// Whether the file must survive a crash of the machine (kSynced: fsync). Files that can be
// recreated and contain a digest are kFast.
enum class Durability : uint8_t { kFast, kSynced };

// Replaces the file at `path` by the concatenated `pieces` and keeps its permissions. If it is a
// symbolic link, its target is replaced. Other than regular files (a pipe, /dev/null) are written
// to. Fails with kInvalidArgument and the system's reason; the file is then unchanged. Exceeding a
// file size limit is such a failure and raises no SIGXFSZ.
Status ReplaceFile(const std::string& path,
                   std::initializer_list<std::span<const std::byte>> pieces, Durability durability);

// Creates the directories of a path that ends in a separator, except those that exist.
// ReplaceFile() reports one that cannot be created.
void CreateDirectories(const std::string& directory);

// Removes temporary files in `directory` ("": the current one) of ReplaceFile() calls in processes
// that were killed.
void RemoveOrphans(const std::string& directory);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_FILE_WRITER_H_
