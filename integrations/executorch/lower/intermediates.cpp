#include "integrations/executorch/lower/intermediates.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "integrations/executorch/lower/graph_writer.h"
#include "runtime/base/error.h"
#include "schema/graph_generated.h"

namespace spirloom::delegate {
namespace {

// The name that the runtime gives the node.
std::string NameOf(const schema::NodeT& node) {
  return node.source.empty() ? node.name : Concat(node.name, " at ", node.source);
}

}  // namespace

Result<ObservedGraph> WithIntermediates(std::span<const std::byte> file) {
  const std::vector<std::byte> aligned(file.begin(), file.end());  // for FlatBuffers
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  size_t graph_bytes = sizeof(flatbuffers::uoffset_t);
  if (aligned.size() >= graph_bytes) graph_bytes += flatbuffers::GetPrefixedSize(data);
  flatbuffers::Verifier verifier(data, std::min(graph_bytes, aligned.size()));
  if (!schema::VerifySizePrefixedGraphBuffer(verifier)) {
    return InvalidFile("The delegate's graph is malformed: FlatBuffers verification failed.");
  }
  const auto source =
      flatbuffers::unique_ptr<schema::GraphT>(schema::GetSizePrefixedGraph(data)->UnPack());
  ObservedGraph observed;
  std::vector<uint32_t>& outputs = source->outputs;
  std::set<uint32_t> updates;
  for (const auto& state : source->states) updates.insert(state->update);
  for (size_t i = 0; i < source->nodes.size(); ++i) {
    const schema::NodeT& node = *source->nodes[i];
    if (node.outputs.empty() || updates.contains(node.outputs[0])) continue;
    if (node.outputs[0] >= source->tensors.size()) {
      return InvalidFile("Output {} of node {} is not a tensor.", node.outputs[0], i);
    }
    const auto found = std::ranges::find(outputs, node.outputs[0]);
    observed.nodes.push_back({NameOf(node), static_cast<size_t>(found - outputs.begin())});
    if (found != outputs.end()) continue;
    std::string& name = source->tensors[node.outputs[0]]->name;
    if (name.empty()) name = node.name;  // outputs require a name
    outputs.push_back(node.outputs[0]);
    ++observed.further_outputs;
  }
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishSizePrefixedGraphBuffer(builder, schema::Graph::Pack(builder, source.get()));
  const std::span<const std::byte> constants =
      file.subspan(std::min(AlignedForConstants(graph_bytes), file.size()));
  observed.file.resize(AlignedForConstants(builder.GetSize()) + constants.size());
  std::memcpy(observed.file.data(), builder.GetBufferPointer(), builder.GetSize());
  if (!constants.empty()) {
    std::memcpy(observed.file.data() + AlignedForConstants(builder.GetSize()), constants.data(),
                constants.size());
  }
  return observed;
}

}  // namespace spirloom::delegate
