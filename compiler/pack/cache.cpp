#include "compiler/pack/cache.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

#include "compiler/base/file_io.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "runtime/base/file_writer.h"

namespace spirloom::compiler {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMagic = 0x43534c53;  // "SLSC"
// Incremented when the checks or the entry format change.
constexpr uint32_t kFormat = 7;
constexpr const char* kExtension = ".slc";

enum class EntryKind : uint32_t { kModule = 0, kSkipped = 1 };

struct EntryHeader {
  uint32_t magic;
  uint32_t format;
  uint32_t kind;
  uint32_t size;  // bytes of payload after the header
  uint64_t key_high;
  uint64_t key_low;
  uint64_t payload_digest;  // XXH3-64
};
static_assert(sizeof(EntryHeader) == 40);

struct HashStateDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// Hashes each part with its length, so that moving bytes between parts changes the key.
class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }
  Hasher& Add(std::string_view text) {
    Add(uint64_t{text.size()});
    XXH3_128bits_update(state_.get(), text.data(), text.size());
    return *this;
  }
  Hasher& Add(uint64_t value) {
    XXH3_128bits_update(state_.get(), &value, sizeof(value));
    return *this;
  }
  CacheKey Digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return {hash.high64, hash.low64};
  }

 private:
  std::unique_ptr<XXH3_state_t, HashStateDeleter> state_;
};

void AddInterface(Hasher& hasher, const Variant& variant) {
  hasher.Add(variant.bindings.size());
  for (const Binding& b : variant.bindings)
    hasher.Add(b.name).Add(BindingTypeName(b.type)).Add(BindingAccessName(b.access));
  hasher.Add(variant.push.size()).Add(variant.push_bytes);
  for (const PushMember& m : variant.push)
    hasher.Add(m.name).Add(ScalarTypeName(m.type)).Add(m.count).Add(m.offset);
  hasher.Add(variant.constants.size());
  for (const Constant& c : variant.constants)
    hasher.Add(c.name).Add(ScalarTypeName(c.type)).Add(c.id);
  for (const uint16_t size : variant.workgroup) hasher.Add(size);
  hasher.Add(variant.needs).Add(variant.may_need).Add(uint64_t{variant.portable});
  hasher.Add(uint64_t{variant.loop_iterations});
}

EntryHeader HeaderOf(const CacheKey& key, EntryKind kind, std::string_view payload) {
  return {.magic = kMagic,
          .format = kFormat,
          .kind = static_cast<uint32_t>(kind),
          .size = static_cast<uint32_t>(payload.size()),
          .key_high = key.high,
          .key_low = key.low,
          .payload_digest = XXH3_64bits(payload.data(), payload.size())};
}

}  // namespace

std::string CacheKey::ToString() const {
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

std::string ToolVersion() {
  return GlslangVersion() + "; " + OptimizerVersion() + "; checks " + std::to_string(kFormat);
}

CacheKey MakeCacheKey(const Variant& variant, std::string_view glsl,
                      std::string_view tool_version) {
  Hasher hasher;
  hasher.Add(tool_version).Add(TargetName(variant.target)).Add(glsl);
  AddInterface(hasher, variant);
  return hasher.Digest();
}

fs::path Cache::PathOf(const CacheKey& key) const {
  return directory_ / (key.ToString() + kExtension);
}

std::optional<CacheEntry> Cache::Load(const CacheKey& key) const {
  if (directory_.empty()) return std::nullopt;
  const Result<std::string> file = ReadFile(PathOf(key));
  if (!file.ok() || file->size() <= sizeof(EntryHeader)) return std::nullopt;
  const std::string_view payload = std::string_view(*file).substr(sizeof(EntryHeader));
  EntryHeader header;
  std::memcpy(&header, file->data(), sizeof(header));
  const auto kind = static_cast<EntryKind>(header.kind);
  const EntryHeader expected = HeaderOf(key, kind, payload);
  if (std::memcmp(&header, &expected, sizeof(header)) != 0) return std::nullopt;
  CacheEntry entry;
  if (kind == EntryKind::kSkipped) {
    entry.skip_reason = payload;
  } else {
    entry.words.resize(payload.size() / sizeof(uint32_t));
    std::memcpy(entry.words.data(), payload.data(), entry.words.size() * sizeof(uint32_t));
  }
  if (entry.words.empty() == entry.skip_reason.empty()) return std::nullopt;
  return entry;
}

Status Cache::Store(const CacheKey& key, const CacheEntry& entry) const {
  if (directory_.empty()) return Status();
  const bool skipped = !entry.skip_reason.empty();
  const std::string_view payload =
      skipped ? std::string_view(entry.skip_reason)
              : std::string_view(reinterpret_cast<const char*>(entry.words.data()),
                                 entry.words.size() * sizeof(uint32_t));
  const EntryHeader header =
      HeaderOf(key, skipped ? EntryKind::kSkipped : EntryKind::kModule, payload);
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  file += payload;
  return WriteFileAtomically(PathOf(key), file);
}

void Cache::Trim(uintmax_t max_bytes, const std::set<std::string>& keep) const {
  if (directory_.empty()) return;
  RemoveOrphans(directory_);
  struct File {
    fs::file_time_type time;
    fs::path path;
    uintmax_t size;
  };
  std::vector<File> removable;
  uintmax_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code file_error;
    if (it->path().extension() != kExtension) continue;
    const uintmax_t size = it->file_size(file_error);
    const fs::file_time_type time = it->last_write_time(file_error);
    if (file_error) continue;  // another process removed it
    total += size;
    if (keep.count(it->path().stem()) == 0) removable.push_back({time, it->path(), size});
  }
  std::sort(removable.begin(), removable.end(), [](const File& a, const File& b) {
    return std::tie(a.time, a.path) < std::tie(b.time, b.path);
  });
  for (const File& file : removable) {
    if (total <= max_bytes) break;
    if (fs::remove(file.path, error)) total -= file.size;
  }
}

}  // namespace spirloom::compiler
