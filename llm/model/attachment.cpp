#include "llm/model/attachment.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace spirloom::llm {

Result<std::string_view> FindAttachment(std::span<const Attachment> attachments,
                                        std::string_view name) {
  const auto found = std::ranges::find(attachments, name, &Attachment::name);
  if (found == attachments.end()) {
    return InvalidFile(
        "The graph file has no attachment {}. Import the model from a directory with a tokenizer: "
        "spirloom import DIRECTORY -o MODEL.slg.",
        Quote(name));
  }
  return std::string_view(reinterpret_cast<const char*>(found->data.data()), found->data.size());
}

}  // namespace spirloom::llm
