// See attention_fit.h.
#include "gpu/making/attention_fit.h"

#include <map>
#include <mutex>

#include "gpu/forms/attention.h"
#include "gpu/making/makers.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::gpu {
namespace {

/// Answers by signatures of launches.
struct Answers {
  std::mutex mutex;
  std::map<std::string, bool> by_signature;
};

bool has_cudnn_plans(const MakerContext& context, const core::Graph& graph,
                     const runtime::Launch& launch) {
  const runtime::ConstantValue none = [](core::TensorId) { return core::LiteralPtr(); };
  return count_cudnn_plans(context, request_of(graph, launch, {}, none)) > 0;
}

}  // namespace

LaunchFit attention_of_cudnn(const MakerContext& context) {
  return [&context, answers = std::make_shared<Answers>()](const core::Graph& graph,
                                                           const runtime::Launch& launch) {
    if (!context.handles->libraries().cudnn) return false;
    const std::string signature = runtime::launch_signature(graph, launch);
    const std::lock_guard lock(answers->mutex);
    const auto [answer, is_new] = answers->by_signature.try_emplace(signature, false);
    if (is_new) answer->second = has_cudnn_plans(context, graph, launch);
    return answer->second;
  };
}

bool is_attention_of_known_cards(const core::Graph& graph, const runtime::Launch& launch) {
  constexpr std::int64_t kPiece = 8;
  const auto region = runtime::generated::make_region(graph, launch.nodes(), launch.outputs);
  const core::TensorType& type = graph.tensor(launch.outputs[0]).type;
  if (!region || core::size_bytes(type.data_type) != 2) return false;
  const auto attention = attention_of(graph, *region);
  if (!attention) return false;
  return attention->queries.dims[3] % kPiece == 0 && attention->values.dims[3] % kPiece == 0;
}

}  // namespace soapstone::gpu
