// Inputs on which a wrong rewrite has nowhere to hide: ordinary values, large ones, zeros, ones,
// tiny ones.
#include <algorithm>
#include <cstring>
#include <random>

#include "ops/registry.h"
#include "runtime/executor.h"
#include "search/equivalence.h"

namespace soapstone::search {
namespace {

using core::DataType;
using core::Graph;
using core::TensorId;

/// The smallest data dimension that an input indexes through a gather, also behind casts, views
/// and copies; 2 where no gather reads it.
std::int64_t index_bound(const Graph& graph, TensorId input) {
  std::int64_t bound = 0;
  std::vector<TensorId> todo{input};
  std::vector<bool> seen(graph.tensor_bound());
  while (!todo.empty()) {
    const TensorId at = todo.back();
    todo.pop_back();
    if (seen[at.index()]) continue;
    seen[at.index()] = true;
    for (core::NodeId id : graph.consumers(at)) {
      const core::Node& node = graph.node(id);
      if (node.op->name == "gather" && node.inputs[1] == at) {
        const auto dims = core::concrete(graph.tensor(node.inputs[0]).type.shape);
        if (!dims) continue;
        const auto axis = static_cast<std::size_t>(node.attributes.get_int("axis"));
        bound = bound == 0 ? (*dims)[axis] : std::min(bound, (*dims)[axis]);
      } else if (node.outputs.size() == 1 &&
                 !core::is_floating(graph.tensor(node.outputs[0]).type.data_type)) {
        todo.push_back(node.outputs[0]);
      }
    }
  }
  return bound > 0 ? bound : 2;
}

float draw(SampleKind kind, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  switch (kind) {
  case SampleKind::kNormal:
    return normal(random);
  case SampleKind::kExtreme:
    // Mostly ordinary, so that results stay finite; now and then a hundred times as large.
    return normal(random) * (random() % 16 == 0 ? 100.0F : 1.0F);
  case SampleKind::kZero:
    return 0;
  case SampleKind::kOne:
    return 1;
  case SampleKind::kTiny:
    return normal(random) * 1e-6F;
  }
  return 0;
}

core::Literal floats(const core::Dims& dims, SampleKind kind, std::mt19937_64& random) {
  std::vector<float> values(static_cast<std::size_t>(core::element_count(dims)));
  for (float& value : values) value = draw(kind, random);
  return core::Literal::floats(dims, values);
}

template <class T>
core::Literal integers(DataType type, const core::Dims& dims, std::int64_t bound,
                       std::mt19937_64& random) {
  std::vector<T> values(static_cast<std::size_t>(core::element_count(dims)));
  for (T& value : values) {
    value = static_cast<T>(random() % static_cast<std::uint64_t>(bound));
  }
  return core::Literal::copy(type, dims, std::as_bytes(std::span<const T>(values)));
}

}  // namespace

std::vector<core::Literal> sample_inputs(const Graph& graph, SampleKind kind, std::uint64_t seed) {
  // Types without a case of their own keep the values that the executor would draw.
  std::vector<core::Literal> result = runtime::random_inputs(graph, seed);
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15U + 1);
  for (std::size_t k = 0; k < result.size(); ++k) {
    const core::Dims dims = result[k].dims();
    const std::int64_t bound = index_bound(graph, graph.inputs()[k]);
    switch (result[k].data_type()) {
    case DataType::kFloat32:
      result[k] = floats(dims, kind, random);
      break;
    case DataType::kInt64:
      result[k] = integers<std::int64_t>(DataType::kInt64, dims, bound, random);
      break;
    case DataType::kInt32:
      result[k] = integers<std::int32_t>(DataType::kInt32, dims, bound, random);
      break;
    default:
      break;
    }
  }
  return result;
}

}  // namespace soapstone::search
