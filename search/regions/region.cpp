// Copies the nodes of a region, and notes on the way what there is to tell it from others.
#include "search/regions/region.h"

#include <algorithm>

#include "core/base/hash.h"
#include "ops/definition/by_role.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::Tensor;
using core::TensorId;

/// Constants of more elements are weights: regions that differ in their values are alike.
constexpr std::int64_t kMaxNumbers = 16;

/// The first word of an entry in the signature.
enum class Mark : std::uint64_t {
  kInput,
  kNumbers,
  kWeight,
  kGeneratedWeight,
  kNode,
  kOutput,
  kSpecials,
};

std::uint64_t type_hash(const core::TensorType& type) {
  std::uint64_t hash = static_cast<std::uint64_t>(type.data_type);
  for (const core::Size& size : type.shape) hash = core::hash_combine(hash, size.hash());
  return hash;
}

bool is_large(const core::TensorType& type) {
  std::int64_t count = 1;
  for (const core::Size& size : type.shape) count *= size.as_constant().value_or(kMaxNumbers);
  return count > kMaxNumbers;
}

/// One number everywhere: rules know such weights by their value.
bool is_uniform(const core::Literal& value) {
  const auto bytes = value.bytes();
  const std::size_t size = core::size_bytes(value.data_type());
  return bytes.size() > size && size > 0 &&
         std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), bytes.begin());
}

/// A weight of which only the type matters.
bool is_weight(const core::Tensor& tensor) {
  return is_large(tensor.type) && !is_uniform(*tensor.value);
}

/// Stands for a weight in a model without real ones. Zeros and ones are known to rules.
bool is_generated_weight(const Graph& graph, const Node& node) {
  if (node.op->movement != core::Movement::kFill || !is_large(graph.tensor(node.outputs[0]).type))
    return false;
  const double value = ops::fill_value(node);
  return value != 0 && value != 1;
}

class RegionExtraction {
 public:
  RegionExtraction(const Graph& whole, std::span<const NodeId> nodes)
      : whole_(whole), members_(nodes.begin(), nodes.end()), builder_({}, whole.symbols()),
        mine_(whole.tensor_bound()) {}

  Region run(std::span<const NodeId> in_order) {
    for (const NodeId id : in_order) {
      for (const TensorId input : whole_.node(id).inputs) {
        if (!input.valid()) continue;
        if (whole_.is_constant_expression(input)) {
          add_constant(input);
        } else if (!mine_[input.index()].valid()) {
          add_input(input);
        }
      }
      add_node(id);
    }
    builder_.set_outputs(outputs(in_order));
    auto graph = std::move(builder_).finish();
    CHECK(graph.ok(), "a part of a graph is no graph");
    region_.graph = *std::move(graph);
    return std::move(region_);
  }

 private:
  void note(Mark mark, std::uint64_t what) {
    region_.signature.push_back(static_cast<std::uint64_t>(mark));
    region_.signature.push_back(what);
  }

  void map(TensorId whole, TensorId mine) {
    mine_[whole.index()] = mine;
    region_.tensors.push_back(whole);
  }

  void add_input(TensorId id) {
    const Tensor& tensor = whole_.tensor(id);
    note(Mark::kInput, type_hash(tensor.type));
    map(id, builder_.add_input({}, tensor.type));
  }

  /// With all that it is computed from; producers first.
  void add_constant(TensorId root) {
    std::vector<TensorId> pending{root};
    while (!pending.empty()) {
      const TensorId id = pending.back();
      const Tensor& tensor = whole_.tensor(id);
      bool ready = true;
      if (!mine_[id.index()].valid() && tensor.producer.valid()) {
        for (const TensorId input : whole_.node(tensor.producer).inputs) {
          if (!input.valid() || mine_[input.index()].valid()) continue;
          pending.push_back(input);
          ready = false;
        }
      }
      if (!ready) continue;
      pending.pop_back();
      if (mine_[id.index()].valid()) continue;
      if (tensor.producer.valid()) {
        add_node(tensor.producer);
      } else {
        const bool weight = is_weight(tensor);
        note(weight ? Mark::kWeight : Mark::kNumbers,
             weight ? type_hash(tensor.type) : tensor.local_hash);
        map(id, builder_.add_constant(tensor.value));
      }
    }
  }

  void add_node(NodeId id) {
    const Node& node = whole_.node(id);
    if (is_generated_weight(whole_, node)) {
      note(Mark::kGeneratedWeight, node.op->hash());
      region_.signature.push_back(type_hash(whole_.tensor(node.outputs[0]).type));
    } else {
      note(Mark::kNode, node.local_hash);
    }
    std::vector<TensorId> inputs;
    inputs.reserve(node.inputs.size());
    for (const TensorId input : node.inputs) {
      inputs.push_back(input.valid() ? mine_[input.index()] : input);
      region_.signature.push_back(inputs.back().value);
    }
    std::vector<core::TensorType> types;
    types.reserve(node.outputs.size());
    for (const TensorId output : node.outputs) types.push_back(whole_.tensor(output).type);
    const auto made =
        builder_.add_node(*node.op, node.attributes, std::move(inputs), std::move(types));
    for (std::size_t k = 0; k < made.size(); ++k) map(node.outputs[k], made[k]);
    region_.nodes.push_back(id);
  }

  std::vector<TensorId> outputs(std::span<const NodeId> in_order) {
    std::vector<TensorId> found;
    for (const NodeId id : in_order) {
      for (const TensorId output : whole_.node(id).outputs) {
        const auto readers = whole_.consumers(output);
        const bool leaves =
            whole_.is_output(output) || std::ranges::any_of(readers, [&](NodeId reader) {
              return !std::ranges::binary_search(members_, reader);
            });
        if (!leaves) continue;
        found.push_back(mine_[output.index()]);
        note(Mark::kOutput, found.back().value);
      }
    }
    return found;
  }

  const Graph& whole_;
  std::vector<NodeId> members_;  // ascending
  core::GraphBuilder builder_;
  std::vector<TensorId> mine_;  // by tensor of the whole graph
  Region region_;

  friend Region soapstone::search::extract_region(const Graph&, std::span<const NodeId>,
                                                  const ops::SpecialValues&);
};

}  // namespace

bool is_free_weight(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensor(id);
  if (tensor.value) return is_weight(tensor);
  return tensor.producer.valid() && is_generated_weight(graph, graph.node(tensor.producer));
}

Region extract_region(const Graph& whole, std::span<const NodeId> nodes,
                      const ops::SpecialValues& specials) {
  RegionExtraction extraction(whole, nodes);
  std::ranges::sort(extraction.members_);
  Region region = extraction.run(nodes);
  if (specials.none()) return region;
  region.specials = specials.of_part(region.tensors);
  for (std::size_t i = 0; i < region.tensors.size(); ++i) {
    if (!region.specials.matter_in(TensorId(i))) continue;
    region.signature.push_back(static_cast<std::uint64_t>(Mark::kSpecials));
    region.signature.push_back(i);
  }
  return region;
}

}  // namespace soapstone::search
