// See special_values.h: one pass forward for ranges, one backward for what becomes of them.
#include "ops/ranges/special_values.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "ops/definition/registry.h"
#include "ops/ranges/node_ranges.h"

namespace soapstone::ops {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Remembers ranges of constants, as large weights take longer to read than all else, and facts
/// about nodes. Thread-safe.
class SpecialsMemory {
 public:
  FloatRange range(const core::LiteralPtr& literal) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = ranges_.find(literal); known != ranges_.end()) return known->second;
    }
    const FloatRange range = range_of(*literal);
    const std::lock_guard lock(mutex_);
    return ranges_.emplace(literal, range).first->second;
  }

  std::shared_ptr<const NodeFacts> facts(const Graph& graph, NodeId id,
                                         const std::vector<const TensorFact*>& operands,
                                         InputMagnitude magnitude) {
    const Question question{graph, graph.node(id), id, operands, magnitude};
    const std::uint64_t key = question.hash();
    {
      const std::lock_guard lock(mutex_);
      const auto [begin, end] = answers_.equal_range(key);
      for (auto it = begin; it != end; ++it)
        if (it->second.is_to(question)) return it->second.facts;
    }
    Answer answer(question);
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= kMostAnswers) answers_.clear();
    return answers_.emplace(key, std::move(answer))->second.facts;
  }

 private:
  /// Everything that the facts about a node depend on.
  struct Question {
    const Graph& graph;
    const Node& node;
    NodeId id;
    const std::vector<const TensorFact*>& operands;
    InputMagnitude magnitude;

    const core::TensorType& type(TensorId tensor) const {
      static const core::TensorType kNone;
      return tensor.valid() ? graph.tensor(tensor).type : kNone;
    }
    /// Hashes the node and the ids around it; what is known of operands seldom differs beside.
    std::uint64_t hash() const {
      std::uint64_t hash = core::hash_combine(node.local_hash, id.index());
      hash = core::hash_combine(hash, static_cast<std::uint64_t>(magnitude));
      for (const TensorId tensor : node.inputs) hash = core::hash_combine(hash, tensor.value);
      for (const TensorId tensor : node.outputs) hash = core::hash_combine(hash, tensor.value);
      for (const TensorFact* const operand : operands)
        hash = core::hash_combine(
            hash, operand == nullptr ? 0 : std::bit_cast<std::uint64_t>(operand->range.high));
      return hash;
    }
  };

  struct Answer {
    explicit Answer(const Question& asked)
        : node(asked.node), id(asked.id), magnitude(asked.magnitude),
          facts(std::make_shared<const NodeFacts>(
              facts_of(asked.graph, asked.id, asked.operands, asked.magnitude))) {
      for (const TensorId tensor : node.inputs) types.push_back(asked.type(tensor));
      for (const TensorId tensor : node.outputs) types.push_back(asked.type(tensor));
      for (const TensorFact* const operand : asked.operands)
        operands.push_back(operand != nullptr ? std::optional(*operand) : std::nullopt);
    }

    bool is_to(const Question& asked) const {
      const Node& other = asked.node;
      if (id != asked.id || magnitude != asked.magnitude || node.op != other.op ||
          node.inputs != other.inputs || node.outputs != other.outputs ||
          !(node.attributes == other.attributes))
        return false;
      auto type = types.begin();
      const auto is_same = [&](TensorId tensor) { return *type++ == asked.type(tensor); };
      if (!std::ranges::all_of(other.inputs, is_same) ||
          !std::ranges::all_of(other.outputs, is_same))
        return false;
      return std::ranges::equal(operands, asked.operands,
                                [](const std::optional<TensorFact>& known, const TensorFact* now) {
                                  return known ? now != nullptr && *known == *now : now == nullptr;
                                });
    }

    Node node;
    NodeId id;
    InputMagnitude magnitude;
    std::vector<core::TensorType> types;  ///< Of its inputs, then of its outputs.
    std::vector<std::optional<TensorFact>> operands;
    std::shared_ptr<const NodeFacts> facts;
  };

  static constexpr std::size_t kMostAnswers = 20'000;

  std::mutex mutex_;
  std::map<core::LiteralPtr, FloatRange> ranges_;
  std::unordered_multimap<std::uint64_t, Answer> answers_;  // by hash of the question
};

namespace {

class Flow {
 public:
  Flow(const Graph& graph, const Surroundings& surroundings, InputMagnitude magnitude,
       SpecialsMemory& memory, const std::vector<bool>& doubled = {})
      : graph_(graph), magnitude_(magnitude), memory_(memory), facts_(graph.tensor_bound()),
        uses_(graph.node_bound()), matters_(graph.tensor_bound()) {
    for (std::size_t i = 0; i < graph.tensor_bound(); ++i) begin(TensorId(i));
    for (std::size_t k = 0; k < doubled.size(); ++k) {
      FloatRange& range = facts_[graph.inputs()[k].index()]->range;
      if (doubled[k]) range = {2 * range.low, 2 * range.high, range.specials};
    }
    begin_special(surroundings.special_inputs);
    for (const NodeId id : graph.order()) forward(id);
    end(surroundings);
    for (const NodeId id : std::views::reverse(graph.order())) backward(id);
  }

  bool matters(TensorId id) const { return matters_[id.index()] != 0; }
  Specials specials(TensorId id) const {
    return facts_[id.index()] ? facts_[id.index()]->range.specials : Specials{0};
  }
  /// The largest magnitude of its finite values.
  double extent(TensorId id) const {
    if (!facts_[id.index()] || !facts_[id.index()]->range.has_finite()) return 0;
    return std::max(-facts_[id.index()]->range.low, facts_[id.index()]->range.high);
  }

 private:
  /// Inputs and constants.
  void begin(TensorId id) {
    if (!graph_.contains(id)) return;
    const core::Tensor& tensor = graph_.tensor(id);
    if (tensor.producer.valid()) return;
    TensorFact& fact = start(id);
    if (tensor.value) fact.range = memory_.range(tensor.value);
  }

  void begin_special(const std::vector<bool>& inputs) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k]) continue;
      const TensorId id = graph_.inputs()[k];
      facts_[id.index()]->range =
          input_range(graph_.tensor(id).type.data_type, InputMagnitude::kAny);
    }
  }

  /// The graph around this one may test its results.
  void end(const Surroundings& surroundings) {
    for (std::size_t k = 0; k < graph_.outputs().size(); ++k) {
      const bool is_tested =
          k < surroundings.tested_results.size() && surroundings.tested_results[k];
      const TensorId id = graph_.outputs()[k];
      if (magnitude_ == InputMagnitude::kOrdinary ? surroundings.results_matter : is_tested)
        matters_[id.index()] |= specials(id);
    }
  }

  /// What is known of a tensor of which only the type is.
  TensorFact& start(TensorId id) {
    const core::TensorType& type = graph_.tensor(id).type;
    facts_[id.index()] = TensorFact{.range = input_range(type.data_type, magnitude_),
                                    .number = static_cast<TensorNumber>(id.index()),
                                    .shape = type.shape};
    return *facts_[id.index()];
  }

  void forward(NodeId id) {
    const Node& node = graph_.node(id);
    if (is_opaque(node) || !has_shapes(node)) {
      for (const TensorId output : node.outputs) start(output);
      return;
    }
    std::vector<const TensorFact*> operands;
    for (const TensorId input : node.inputs)
      operands.push_back(input.valid() ? &*facts_[input.index()] : nullptr);
    const auto found = memory_.facts(graph_, id, operands, magnitude_);
    for (std::size_t r = 0; r < node.outputs.size(); ++r)
      facts_[node.outputs[r].index()] = found->results[r];
    uses_[id.index()] = found;
  }

  bool has_shapes(const Node& node) const {
    const auto is_known = [&](TensorId id) {
      return !id.valid() || graph_.tensor(id).type.shape_known;
    };
    return std::ranges::all_of(node.inputs, is_known) &&
           std::ranges::all_of(node.outputs, is_known);
  }

  void backward(NodeId id) {
    const Node& node = graph_.node(id);
    const bool is_unknown = is_opaque(node) || !has_shapes(node);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const TensorId input = node.inputs[k];
      if (!input.valid() || specials(input) == 0) continue;
      const Specials specials = this->specials(input);
      Specials& matter = matters_[input.index()];
      if (is_unknown) {
        if (magnitude_ == InputMagnitude::kOrdinary) matter |= specials;
        continue;
      }
      const OperandUse& use = uses_[id.index()]->operands[k];
      matter |= specials & (magnitude_ == InputMagnitude::kOrdinary ? use.absorbed : use.tested);
      // A NaN stays one; of an infinity either may have been made.
      if (matter_among(node, use.nan_in, kNan)) matter |= specials;
      if (matter_among(node, use.infinite_in, kInfinities)) matter |= specials & kInfinities;
    }
  }

  bool matter_among(const Node& node, const std::vector<std::uint32_t>& results,
                    Specials which) const {
    return std::ranges::any_of(results, [&](std::uint32_t result) {
      return (matters_[node.outputs[result].index()] & which) != 0;
    });
  }

  const Graph& graph_;
  InputMagnitude magnitude_;
  SpecialsMemory& memory_;
  std::vector<std::optional<TensorFact>> facts_;        ///< By tensor.
  std::vector<std::shared_ptr<const NodeFacts>> uses_;  ///< By node, of its operands.
  std::vector<Specials> matters_;                       ///< By tensor: which of its specials do.
};

}  // namespace

SpecialValues::SpecialValues(const Graph& graph, const Surroundings& surroundings)
    : SpecialValues(graph, surroundings, std::make_shared<SpecialsMemory>()) {}

SpecialValues SpecialValues::again(const Graph& graph) const {
  return none() ? SpecialValues() : SpecialValues(graph, surroundings_, memory_);
}

SpecialValues::SpecialValues(const Graph& graph, Surroundings surroundings,
                             std::shared_ptr<SpecialsMemory> memory)
    : matters_(graph.tensor_bound()), specials_(graph.tensor_bound()),
      surroundings_(std::move(surroundings)), memory_(std::move(memory)) {
  for (const InputMagnitude magnitude : {InputMagnitude::kOrdinary, InputMagnitude::kAny}) {
    const Flow flow(graph, surroundings_, magnitude, *memory_);
    for (std::size_t i = 0; i < matters_.size(); ++i) {
      if (magnitude == InputMagnitude::kOrdinary) specials_[i] = flow.specials(TensorId(i));
      if (!flow.matters(TensorId(i))) continue;
      matters_[i] = any_ = true;
    }
  }
}

std::vector<bool> results_that_stay_ordinary(const Graph& graph, const Surroundings& surroundings,
                                             const std::vector<bool>& states) {
  // A state may gain that many ordinary magnitudes in a run, if the type has room for many runs.
  constexpr double kMostGained = 3, kMuchRoom = 0x1p40;
  SpecialsMemory memory;
  const Flow once(graph, surroundings, InputMagnitude::kOrdinary, memory);
  const Flow twice(graph, surroundings, InputMagnitude::kOrdinary, memory, states);
  std::vector<bool> stay;
  for (const TensorId id : graph.outputs()) {
    const core::DataType type = graph.tensor(id).type.data_type;
    if (!core::is_floating(type)) {
      stay.push_back(true);
      continue;
    }
    const double ordinary = input_range(type, InputMagnitude::kOrdinary).high;
    const bool has_room = magnitudes_of(type).largest / ordinary > kMuchRoom;
    const double most = has_room ? (1 + kMostGained) * ordinary : ordinary;
    stay.push_back(once.specials(id) == 0 && twice.specials(id) == 0 && once.extent(id) <= most &&
                   twice.extent(id) <= once.extent(id) + ordinary);
  }
  return stay;
}

SpecialValues SpecialValues::of_part(const std::vector<TensorId>& tensors) const {
  SpecialValues part;
  for (const TensorId id : tensors) {
    part.matters_.push_back(matter_in(id));
    part.specials_.push_back(specials_of(id));
    part.any_ = part.any_ || part.matters_.back();
  }
  return part;
}

}  // namespace soapstone::ops
