#include "runtime/graph/plan/missing.h"

#include "runtime/base/text.h"

namespace spirloom::graph {
namespace {

// Concatenates the words, each after a space.
std::string Spaced(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += Concat(" ", word);
  return text;
}

}  // namespace

void MissingList::Add(std::map<std::string, Nodes>& lines, const std::string& line,
                      const std::string& node) {
  Nodes& nodes = lines[line];
  if (nodes.count == 0) nodes.first = node;
  ++nodes.count;
}

void MissingList::AddSelector(const std::string& op, DType dtype, Storage storage) {
  ops_.insert(op);
  dtypes_.insert(ShortName(dtype));
  storages_.insert(Name(storage));
}

void MissingList::AddOp(const std::string& op, DType dtype, Storage storage,
                        const std::string& node) {
  Add(library_lines_,
      Format("{}: operator not found, for dtype {}, storage {}", op, ShortName(dtype),
             Name(storage)),
      node);
  AddSelector(op, dtype, storage);
}

void MissingList::AddVariant(const std::string& op, const ops::KernelInfo& kernel, uint64_t key,
                             const std::string& node) {
  Add(library_lines_, Concat(op, ": no variant of ", ops::DescribeKey(kernel, key)), node);
  AddSelector(op, ops::KeyDType(key), ops::KeyStorage(key));
}

void MissingList::AddCapability(const std::string& op, const std::string& detail,
                                const std::string& node) {
  Add(device_lines_, Concat(op, ": ", detail), node);
}

std::string MissingList::Remedy() const {
  return Format(
      "\nAdd to the selectors of a shader library\n  OPS{}\n  DTYPES{} STORAGES{} (if it uses "
      "these filters)\nor MODELS with this graph file, which selects everything the graph "
      "requires; or pass a library that contains them in RuntimeOptions::libraries. A new operator "
      "requires a spec.",
      Spaced(ops_), Spaced(dtypes_), Spaced(storages_));
}

Status MissingList::ToStatus(const ops::OpIndex& index) const {
  if (library_lines_.empty() && device_lines_.empty()) return Status();
  const auto list = [](const std::map<std::string, Nodes>& lines) {
    std::string text;
    for (const auto& [line, nodes] : lines) {
      text += Format("\n  {} ({}", line, nodes.first);
      if (nodes.count > 1) text += Format(" and {} more", nodes.count - 1);
      text += ")";
    }
    return text;
  };
  std::string text;
  if (!library_lines_.empty()) {
    std::string names;
    for (const ops::LoadedLibrary& loaded : index.libraries()) {
      names += Concat((names.empty() ? "" : ", "), loaded.library.name);
    }
    text = Format("The shader libraries ({}) do not contain everything the graph requires:{}{}",
                  (names.empty() ? "none" : names), list(library_lines_), Remedy());
  }
  if (!device_lines_.empty()) {
    if (!text.empty()) text += "\n";
    text += Format(
        "The device does not support everything the graph requires:{}\nImport the model with "
        "another dtype, or choose another device.",
        list(device_lines_));
  }
  return Status(library_lines_.empty() ? StatusCode::kUnsupported : StatusCode::kNotFound,
                std::move(text));
}

}  // namespace spirloom::graph
