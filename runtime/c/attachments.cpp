// Attachments of models and of graph files.
#include <utility>
#include <vector>

#include "runtime/c/error.h"
#include "runtime/c/model.h"
#include "runtime/c/sized.h"

using spirloom::Attachment;
using spirloom::Status;
namespace c = spirloom::c;

struct spirloom_attachments {
  std::vector<Attachment> attachments;
};

namespace {

Status WriteInfo(std::span<const Attachment> attachments, size_t i,
                 spirloom_attachment_info* info) {
  SPIRLOOM_TRY(c::CheckIndex("attachments", i, attachments.size()));
  return c::Write<spirloom_attachment_info>("spirloom_attachment_info",
                                            {.struct_size = sizeof(spirloom_attachment_info),
                                             .name = attachments[i].name.c_str(),
                                             .data = attachments[i].data.data(),
                                             .size = attachments[i].data.size()},
                                            info);
}

}  // namespace

size_t spirloom_model_attachment_count(const spirloom_model* model) {
  return model == nullptr ? 0 : model->model.attachments().size();
}

spirloom_status spirloom_model_attachment(const spirloom_model* model, size_t i,
                                          spirloom_attachment_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_model_attachment", {{"model", model}, {"info", info}}));
    return WriteInfo(model->model.attachments(), i, info);
  });
}

spirloom_status spirloom_attachments_read(const char* path, spirloom_attachments** attachments,
                                          spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_attachments_read",
                                  {{"path", path}, {"attachments", attachments}}));
    *attachments = nullptr;
    SPIRLOOM_TRY_ASSIGN(std::vector<Attachment> read, spirloom::Model::ReadAttachments(path));
    *attachments = new spirloom_attachments{std::move(read)};
    return Status();
  });
}

void spirloom_attachments_destroy(spirloom_attachments* attachments) { delete attachments; }

size_t spirloom_attachments_count(const spirloom_attachments* attachments) {
  return attachments == nullptr ? 0 : attachments->attachments.size();
}

spirloom_status spirloom_attachments_get(const spirloom_attachments* attachments, size_t i,
                                         spirloom_attachment_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_attachments_get",
                                  {{"attachments", attachments}, {"info", info}}));
    return WriteInfo(attachments->attachments, i, info);
  });
}
