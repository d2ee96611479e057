// See weight_growth.h.
#include "search/base/weight_growth.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "runtime/launches/layout.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// Exporters share smaller constants by chance.
constexpr std::size_t kLeastSharedBytes = 4096;

/// Shares of bytes are rounded.
constexpr double kRounding = 1 + 1e-9;

using BytesByConstant = std::unordered_map<std::uint64_t, double>;

std::size_t known_bytes(const core::TensorType& type) {
  return type.shape_known && core::concrete(type.shape) ? runtime::storage_bytes(type) : 0;
}

/// Whether the tensor is a constant that is read when the graph runs.
bool is_weight(const Graph& graph, TensorId id) {
  if (!graph.contains(id) || !graph.is_constant_expression(id)) return false;
  return graph.is_output(id) || std::ranges::any_of(graph.consumers(id), [&](NodeId reader) {
           return !graph.is_constant_expression(reader);
         });
}

/// The bytes of the weights with equal ones counted as often as they are there.
std::size_t bytes_at_most(const Graph& graph) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i)
    if (is_weight(graph, TensorId(i))) bytes += known_bytes(graph.tensor(TensorId(i)).type);
  return bytes;
}

/// The distinct constants that are read when the graph runs, and what each is computed from.
class Weights {
 public:
  explicit Weights(const Graph& graph)
      : graph_(graph), meaning_(graph.tensor_bound()), sources_(graph.tensor_bound()) {
    for (std::size_t i = 0; i < graph.tensor_bound(); ++i) begin(TensorId(i));
    for (const NodeId id : graph.order())
      if (graph.is_constant_expression(id)) compute(id);
    std::unordered_set<std::uint64_t> seen;
    for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
      const TensorId id(i);
      if (is_weight(graph, id) && seen.insert(meaning_[i]).second) count(id);
    }
  }

  /// The first tensor of each.
  const std::vector<TensorId>& all() const { return all_; }
  std::size_t bytes() const { return bytes_; }
  /// The bytes of the weights that are made of each large constant. What is made of several is
  /// divided among them by their sizes.
  const BytesByConstant& bytes_by_constant() const { return bytes_by_constant_; }
  /// Whether operators of several kinds read what is made of the constant, as an embedding that is
  /// the last layer's matrix, too. Steps of a recurrent layer that share theirs are of one kind.
  bool is_tied(std::uint64_t constant) const {
    const auto readers = readers_.find(constant);
    return readers != readers_.end() && readers->second.size() > 1;
  }

 private:
  void begin(TensorId id) {
    if (!graph_.contains(id)) return;
    const core::Tensor& tensor = graph_.tensor(id);
    if (!tensor.value) return;
    meaning_[id.index()] = tensor.local_hash;
    const std::size_t bytes = known_bytes(tensor.type);
    if (bytes < kLeastSharedBytes) return;
    sizes_[tensor.local_hash] = static_cast<double>(bytes);
    sources_[id.index()] = {tensor.local_hash};
  }

  void compute(NodeId id) {
    const core::Node& node = graph_.node(id);
    std::uint64_t hash = node.local_hash;
    std::vector<std::uint64_t> sources;
    for (const TensorId input : node.inputs) {
      hash = core::hash_combine(hash, input.valid() ? meaning_[input.index()] : 0);
      if (!input.valid()) continue;
      const auto& more = sources_[input.index()];
      sources.insert(sources.end(), more.begin(), more.end());
    }
    std::ranges::sort(sources);
    sources.erase(std::ranges::unique(sources).begin(), sources.end());
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      meaning_[node.outputs[k].index()] = core::hash_combine(hash, k);
      sources_[node.outputs[k].index()] = sources;
    }
  }

  void count(TensorId id) {
    const std::size_t bytes = known_bytes(graph_.tensor(id).type);
    bytes_ += bytes;
    all_.push_back(id);
    double together = 0;
    for (const std::uint64_t source : sources_[id.index()]) together += sizes_[source];
    for (const std::uint64_t source : sources_[id.index()])
      bytes_by_constant_[source] += static_cast<double>(bytes) * sizes_[source] / together;
    for (const NodeId reader : graph_.consumers(id))
      for (const std::uint64_t source : sources_[id.index()])
        if (!graph_.is_constant_expression(reader)) readers_[source].insert(graph_.node(reader).op);
  }

  const Graph& graph_;
  std::vector<std::uint64_t> meaning_;               ///< By tensor: a hash of what it computes.
  std::vector<std::vector<std::uint64_t>> sources_;  ///< By tensor: the large constants behind it.
  BytesByConstant sizes_, bytes_by_constant_;
  std::unordered_map<std::uint64_t, std::set<const core::OpSchema*>> readers_;
  std::vector<TensorId> all_;
  std::size_t bytes_ = 0;
};

}  // namespace

WeightLimit::WeightLimit(const Graph& original, const GrowthOptions& options)
    : is_limited_(options.share >= 0) {
  const Weights weights(original);
  const double grown = options.share * static_cast<double>(weights.bytes());
  const double free = options.share > 0 ? static_cast<double>(options.free_bytes) : 0;
  most_growth_ = static_cast<std::size_t>(std::max({grown, free, 0.0}));
  most_bytes_ = weights.bytes() + most_growth_;
  for (const auto& [constant, bytes] : weights.bytes_by_constant())
    if (weights.is_tied(constant))
      most_of_shared_[constant] = (1 + options.share) * kRounding * bytes;
}

bool WeightLimit::allows(const Graph& graph) const {
  if (!is_limited_) return true;
  if (most_of_shared_.empty() && bytes_at_most(graph) <= most_bytes_) return true;
  const Weights weights(graph);
  const auto is_shared_still = [&](const auto& made) {
    const auto most = most_of_shared_.find(made.first);
    return most == most_of_shared_.end() || made.second <= most->second;
  };
  const bool is_allowed = weights.bytes() <= most_bytes_ &&
                          std::ranges::all_of(weights.bytes_by_constant(), is_shared_still);
  if (!is_allowed) *has_refused_ = true;
  return is_allowed;
}

std::size_t WeightLimit::bytes_of_part(const Graph& part) const {
  std::size_t bytes = 0;
  const Weights weights(part);
  for (const TensorId id : weights.all())
    if (!part.tensor(id).value || !most_of_shared_.contains(part.tensor(id).local_hash))
      bytes += known_bytes(part.tensor(id).type);
  return bytes;
}

}  // namespace soapstone::search
