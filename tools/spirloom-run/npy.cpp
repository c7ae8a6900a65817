#include "tools/spirloom-run/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/base/data_types.h"
#include "runtime/base/file_writer.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/text.h"
#include "tools/spirloom-run/narrow.h"

namespace spirloom::run {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRankRead = 32;  // limit of NumPy

struct TypeName {
  DType dtype;
  std::optional<WideType> wide = std::nullopt;  // the type in the file, if it differs from dtype
  std::string_view wide_name = {};
};

struct WideName {
  std::string_view descr;
  TypeName type;
};

// The types that are narrowed.
constexpr std::array<WideName, 6> kWideTypes{{
    {"<i8", {DType::kI32, WideType::kInt64, "int64"}},
    {"<u8", {DType::kI32, WideType::kUint64, "uint64"}},
    {"<u4", {DType::kI32, WideType::kUint32, "uint32"}},
    {"<i2", {DType::kI32, WideType::kInt16, "int16"}},
    {"<u2", {DType::kI32, WideType::kUint16, "uint16"}},
    {"<f8", {DType::kF32, WideType::kFloat64, "float64"}},
}};

Status InvalidNpy(std::string message) {
  return Status(StatusCode::kInvalidFile, std::move(message));
}

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// Reads the header, a Python dict literal of strings, bools and a tuple of ints.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> Parse() {
    Header header;
    if (!Take('{')) return Malformed("'{' is missing");
    while (!Take('}')) {
      const std::optional<std::string> key = TakeString();
      if (!key) return Malformed("a key is missing");
      if (!Take(':')) return Malformed("':' is missing");
      if (!TakeValue(*key, header))
        return Malformed("the value of " + Quote(*key) + " is not valid");
      if (!Take(',') && !PeekIs('}')) return Malformed("',' is missing");
    }
    if (!AtEnd()) return Malformed("text follows the dict");
    if (!header.descr) return Malformed("'descr' is missing");
    if (!header.fortran_order) return Malformed("'fortran_order' is missing");
    if (!header.shape) return Malformed("'shape' is missing");
    return header;
  }

 private:
  static Status Malformed(const std::string& why) {
    return InvalidNpy("The .npy header is malformed: " + why + ".");
  }

  void SkipSpace() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t')) {
      text_.remove_prefix(1);
    }
  }

  bool AtEnd() {
    SkipSpace();
    return text_.empty();
  }

  bool PeekIs(char c) {
    SkipSpace();
    return !text_.empty() && text_[0] == c;
  }

  bool Take(char c) {
    if (!PeekIs(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string> TakeString() {
    if (!PeekIs('\'') && !PeekIs('"')) return std::nullopt;
    const size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  // The name of the field of a structure with one field, [('name', 'code')].
  std::optional<std::string> TakeField() {
    if (!Take('[') || !Take('(')) return std::nullopt;
    std::optional<std::string> name = TakeString();
    if (!name || !Take(',') || !TakeString() || !Take(')') || !Take(']')) return "a structure";
    return name;
  }

  std::optional<int64_t> TakeInt() {
    SkipSpace();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }

  bool TakeValue(const std::string& key, Header& header) {
    if (key == "descr") {
      header.descr = PeekIs('[') ? TakeField() : TakeString();
      return header.descr.has_value();
    }
    if (key == "fortran_order") {
      header.fortran_order = TakeWord("True");
      return *header.fortran_order || TakeWord("False");
    }
    if (key == "shape") return TakeShape(header);
    return false;
  }

  bool TakeShape(Header& header) {
    if (!Take('(')) return false;
    Shape shape;
    while (!Take(')')) {
      const std::optional<int64_t> dim = TakeInt();
      if (!dim || *dim < 0 || shape.size() == kMaxRankRead) return false;
      shape.push_back(*dim);
      if (!Take(',') && !PeekIs(')')) return false;
    }
    header.shape = std::move(shape);
    return true;
  }

  std::string_view text_;
};

// The text of the header, and the offset of the elements.
struct Sections {
  std::string_view header;
  size_t data;
};

Result<Sections> Split(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic))
    return InvalidNpy("The file is not a .npy file: it does not begin with the magic string.");
  const size_t version_at = kMagic.size();
  if (file.size() < version_at + 2) return InvalidNpy("The .npy file is truncated in its header.");
  const int version = std::to_integer<int>(file[version_at]);
  if (version < 1 || version > 3) {
    return InvalidNpy("The .npy version (" + std::to_string(version) + ") is not 1, 2 or 3.");
  }
  const size_t length_at = version_at + 2;
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < length_at + length_bytes) {
    return InvalidNpy("The .npy file is truncated in its header.");
  }
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= std::to_integer<size_t>(file[length_at + i]) << (8 * i);
  }
  const size_t header_at = length_at + length_bytes;
  if (length > file.size() - header_at) {
    return InvalidNpy("The .npy file is truncated in its header.");
  }
  return Sections{text.substr(header_at, length), header_at + length};
}

// Whether an element type is stored under this code. The byte order of one byte may be '<' too.
// A type that NumPy does not have is a structure with a field of its name.
bool IsDescr(const DTypeInfo& type, std::string_view descr) {
  if (type.kind == DTypeKind::kStoredFloat) return descr == type.long_name;
  const std::string_view code = type.numpy;
  return descr == code ||
         (code[0] == '|' && descr.starts_with('<') && descr.substr(1) == code.substr(1));
}

Result<TypeName> FindType(const std::string& descr) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (IsDescr(kDTypes[i], descr)) return TypeName{static_cast<DType>(i)};
  }
  for (const WideName& wide : kWideTypes) {
    if (wide.descr == descr) return wide.type;
  }
  const std::string quoted = Quote(descr);
  if (!descr.empty() && descr[0] == '>') {
    return InvalidNpy("Element type " + quoted + " is big-endian; save the array little-endian.");
  }
  return InvalidNpy("Element type " + quoted + " is not a float, integer or bool type.");
}

Result<size_t> ByteSize(size_t element_size, const Shape& shape) {
  constexpr uint64_t kMaxBytes = std::numeric_limits<int64_t>::max();
  uint64_t size = element_size;
  for (int64_t dim : shape) {
    const auto count = static_cast<uint64_t>(dim);
    if (count != 0 && size > kMaxBytes / count) {
      return InvalidNpy("Shape " + ToString(shape) + " has too many elements.");
    }
    size *= count;
  }
  return static_cast<size_t>(size);
}

}  // namespace

Result<Array> ParseNpy(std::span<const std::byte> file) {
  SPIRLOOM_TRY_ASSIGN(const Sections sections, Split(file));
  SPIRLOOM_TRY_ASSIGN(Header header, HeaderParser(sections.header).Parse());
  Array array;
  SPIRLOOM_TRY_ASSIGN(const TypeName type, FindType(*header.descr));
  array.dtype = type.dtype;
  array.shape = std::move(*header.shape);
  if (*header.fortran_order && array.shape.size() > 1) {
    return InvalidNpy(
        "The array is column-major (Fortran order); save numpy.ascontiguousarray(x).");
  }
  const size_t element_size = type.wide ? ElementSize(*type.wide) : ElementSize(type.dtype);
  SPIRLOOM_TRY_ASSIGN(const size_t size, ByteSize(element_size, array.shape));
  const std::span<const std::byte> data = file.subspan(sections.data);
  if (data.size() != size) {
    return InvalidNpy("The .npy file contains " + std::to_string(data.size()) +
                      " bytes of elements; " + *header.descr + " " + ToString(array.shape) +
                      " requires " + std::to_string(size) + ".");
  }
  if (type.wide) {
    SPIRLOOM_TRY_ASSIGN(array.bytes, Narrowed(data, *type.wide));
    array.converted_from = type.wide_name;
  } else {
    array.bytes.assign(data.begin(), data.end());
  }
  return array;
}

Result<Array> ReadNpy(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(const MappedFile file, MappedFile::Open(path));
  Result<Array> array = ParseNpy(file.bytes());
  if (!array.ok()) return std::move(array).status().While("reading " + path);
  return array;
}

Status WriteNpy(const std::string& path, const Array& array) {
  const DTypeInfo& type = InfoOf(array.dtype);
  const std::string code = Format("'{}'", type.numpy);
  std::string header = "{'descr': ";
  header +=
      type.kind == DTypeKind::kStoredFloat ? Format("[('{}', {})]", type.long_name, code) : code;
  header += ", 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < array.shape.size(); ++i) {
    header += (i == 0 ? "" : ", ") + std::to_string(array.shape[i]);
  }
  header += array.shape.size() == 1 ? ",), }" : "), }";
  // Aligns the elements to 64 bytes.
  const size_t fixed = kMagic.size() + 4;
  header.resize((fixed + header.size() + 1 + 63) / 64 * 64 - fixed - 1, ' ');
  header += '\n';

  const char version_and_size[] = {1, 0, static_cast<char>(header.size() & 0xff),
                                   static_cast<char>(header.size() >> 8)};
  return ReplaceFile(path,
                     {std::as_bytes(std::span(kMagic)), std::as_bytes(std::span(version_and_size)),
                      std::as_bytes(std::span(header)), array.bytes},
                     Durability::kSynced);
}

}  // namespace spirloom::run
