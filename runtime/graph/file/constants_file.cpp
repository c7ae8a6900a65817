#include "runtime/graph/file/constants_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/graph/file/graph.h"

namespace spirloom::graph {
namespace {

// Footer of a constants file: magic, size in bytes, digest.
constexpr size_t kFooterBytes = 64;
constexpr std::string_view kMagic = "SLGDATA1";
constexpr size_t kSizeOffset = 8;
constexpr size_t kDigestOffset = 16;
constexpr size_t kDigestBytes = 16;

uint64_t LittleEndian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

}  // namespace

Result<std::string> ConstantsFileName(const schema::Graph& source) {
  if (source.constants_file() == nullptr) return std::string();
  std::string name = source.constants_file()->str();
  if (name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
    return InvalidFile("'constants_file' is {}; expected a file name without directory.",
                       Quoted{name});
  }
  return name;
}

Result<std::span<const std::byte>> ConstantSection(const schema::Graph& source,
                                                   const std::string& name,
                                                   std::span<const std::byte> file) {
  if (source.constants_digest() == nullptr || source.constants_digest()->size() != kDigestBytes) {
    return InvalidFile("The graph has no digest of its constants file {}. Import the model again.",
                       Quoted{name});
  }
  const std::span expected(source.constants_digest()->data(), kDigestBytes);
  const size_t size = file.size() - std::min(kFooterBytes, file.size());
  const auto footer = file.subspan(size);
  if (footer.size() < kFooterBytes || std::memcmp(footer.data(), kMagic.data(), kSizeOffset) != 0 ||
      LittleEndian(footer.subspan(kSizeOffset, kDigestOffset - kSizeOffset)) != size) {
    return InvalidFile(
        "The constants file {} ({} bytes) is damaged or truncated. Import the model again.",
        Quoted{name}, file.size());
  }
  const std::span found(reinterpret_cast<const uint8_t*>(footer.data()) + kDigestOffset,
                        kDigestBytes);
  if (std::memcmp(found.data(), expected.data(), kDigestBytes) != 0) {
    return InvalidFile(
        "The constants file {} does not match the graph: expected digest {}, found {}. Copy the "
        "constants file that was written with the graph to the same directory, or import the model "
        "again.",
        Quoted{name}, Hex(expected), Hex(found));
  }
  return file.first(size);
}

}  // namespace spirloom::graph
