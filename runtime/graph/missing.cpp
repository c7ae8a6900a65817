#include "runtime/graph/missing.h"

namespace spirloom::graph {

void MissingList::Add(std::map<std::string, Nodes>& lines, const std::string& line,
                      const std::string& node) {
  Nodes& nodes = lines[line];
  if (nodes.count == 0) nodes.first = node;
  ++nodes.count;
}

void MissingList::AddOp(const std::string& op, const std::string& node) {
  Add(library_lines_, op + ": no such op", node);
}

void MissingList::AddVariant(const std::string& op, const std::string& detail,
                             const std::string& node) {
  Add(library_lines_, op + ": no variant of " + detail, node);
}

void MissingList::AddCapability(const std::string& op, const std::string& detail,
                                const std::string& node) {
  Add(device_lines_, op + ": " + detail, node);
}

Status MissingList::ToStatus(const ops::OpIndex& index) const {
  if (library_lines_.empty() && device_lines_.empty()) return Status();
  const auto list = [](const std::map<std::string, Nodes>& lines) {
    std::string text;
    for (const auto& [line, nodes] : lines) {
      text += "\n  " + line + " (" + nodes.first;
      if (nodes.count > 1) text += " and " + std::to_string(nodes.count - 1) + " more";
      text += ")";
    }
    return text;
  };
  std::string text;
  if (!library_lines_.empty()) {
    std::string names;
    for (const ops::LoadedLibrary& loaded : index.libraries()) {
      names += (names.empty() ? "" : ", ") + std::string(loaded.library.name);
    }
    text = "The shader libraries (" + (names.empty() ? "none" : names) +
           ") lack what the graph needs:" + list(library_lines_) +
           "\nAdd the op's spec, or the dtype and storage to its spec's kernels, and build the "
           "library again; or name a library that has it in RuntimeOptions::libraries.";
  }
  if (!device_lines_.empty()) {
    if (!text.empty()) text += "\n";
    text += "The device lacks what the graph needs:" + list(device_lines_) +
            "\nImport the model with another dtype, or choose another device.";
  }
  return Status(library_lines_.empty() ? StatusCode::kUnsupported : StatusCode::kNotFound,
                std::move(text));
}

}  // namespace spirloom::graph
