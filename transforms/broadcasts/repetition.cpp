#include "transforms/broadcasts/repetition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/base/sequence_parts.h"
#include "transforms/broadcasts/joined_product.h"
#include "transforms/broadcasts/repeated.h"
#include "transforms/broadcasts/repeated_operator.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of a base that is larger than what repeats it: a table of weights, of which rows are chosen.
constexpr std::int64_t kMostRepeatedElements = 1 << 20;

constexpr std::string_view kRepetitionDescription =
    "What is done to a repeated tensor is done to the tensor itself.";

class RepetitionPlanner {
 public:
  explicit RepetitionPlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> run() {
    find_shared();
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      const bool is_complete =
          std::ranges::all_of(node.inputs, [](TensorId input) { return input.valid(); });
      if (is_complete && has_known_sizes(graph_, node)) visit(node);
    }
    merge_shared();
    return std::move(parts_).plans();
  }

 private:
  /// What stands for a tensor once the steps so far are taken.
  struct State {
    Repeated tensor;
    std::optional<GraphPart> part = {};  ///< None: no step was made.
  };

  Sizes shape_of(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }

  State state_of(TensorId id) {
    const auto known = states_.find(id);
    if (known != states_.end()) return known->second;
    return states_.emplace(id, State{Repeated::plain(shape_of(id), next_base_++)}).first->second;
  }

  void visit(const Node& node) {
    switch (node.op->movement) {
    case Movement::kRepeat:
      return repeat(node);
    case Movement::kSelect:
      return select(node);
    case Movement::kJoin:
      if (joins_one(node)) return repeat(node);
      break;
    default:
      break;
    }
    if (with_bias_.contains(node.outputs[0])) return;
    if (const auto found = joined_product(graph_, node))
      if (multiply(*found)) return;
    compute(node);
  }

  // --- What repeats ---

  /// Whether all that it joins is one tensor, of size 1 along the axis.
  bool joins_one(const Node& node) const {
    return node.inputs.size() > 1 && shape_of(node.inputs[0])[ops::axis_by_role(node)] == 1 &&
           std::ranges::count(node.inputs, node.inputs[0]) == std::ssize(node.inputs);
  }

  void repeat(const Node& node) {
    const State before = state_of(node.inputs[0]);
    const Sizes shape = shape_of(node.outputs[0]);
    const std::size_t added = shape.size() - before.tensor.shape.size();
    State after = before;
    after.tensor.shape = shape;
    after.tensor.base_shape.insert(after.tensor.base_shape.begin(), added, 1);
    after.tensor.axes.insert(after.tensor.axes.begin(), added, std::nullopt);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool was_one = d < added || before.tensor.shape[d - added] == 1;
      if (!was_one || shape[d] == 1) continue;
      if (after.tensor.axes[d]) return;  // one row is chosen, and repeated
      after.tensor.axes[d] = Repetition();
    }
    if (added > 0) after.tensor.base = next_base_++;
    add_repeated(node, before, std::move(after));
  }

  /// Rows that are chosen by one list, more than there are.
  void select(const Node& node) {
    const State before = state_of(node.inputs[0]);
    const TensorId indices = node.inputs[1];
    const std::size_t axis = ops::axis_by_role(node);
    const Sizes shape = shape_of(node.outputs[0]);
    if (graph_.tensor(indices).type.shape.size() != 1) return;
    State after = before;
    after.tensor.shape = shape;
    auto& here = after.tensor.axes[axis];
    if (here && here->indices.valid()) return;
    if (!here && shape[axis] <= before.tensor.shape[axis] &&
        !graph_.is_constant_expression(node.inputs[0]))
      return;
    if (!here) here = Repetition{indices};
    add_repeated(node, before, std::move(after));
  }

  void add_repeated(const Node& node, const State& before, State after) {
    const core::TensorType& type = graph_.tensor(node.inputs[0]).type;
    SizeNames sizes = open_sizes({before.tensor, after.tensor});
    bool is_step = false;
    auto texts = in_both_ways(sizes, [&](const SizeNames& names) {
      RepetitionText text(graph_, names);
      const std::string base =
          text.input(before.tensor.base_name(), type, before.tensor.base_shape);
      Names operands{text.repeated(text.source(), before.tensor, base)};
      for (std::size_t k = 1; k < node.inputs.size(); ++k)
        operands.push_back(node.inputs[k] == node.inputs[0]
                               ? operands[0]
                               : text.input(fmt::format("i{}", node.inputs[k].index()),
                                            graph_.tensor(node.inputs[k]).type,
                                            shape_of(node.inputs[k])));
      const std::string from = text.source().line(text.call(node, operands, after.tensor.shape));
      std::string to = base;
      if (after.tensor.base_shape.size() != before.tensor.base_shape.size())
        to = text.target().line(fmt::format("reshape({}; shape=[{}])", base,
                                            list_of(names.texts(after.tensor.base_shape))));
      to = text.repeated(text.target(), after.tensor, to);
      is_step = text.source() != text.target() || from != to;
      return text.finished(fmt::format("{}{}", kRepetitionPrefix, node.op->name), {from}, {to});
    });
    if (is_step) add_step(node, std::move(texts), after, FloatBehavior::kExact, false);
    states_.insert_or_assign(node.outputs[0], std::move(after));
  }

  // --- What is done to it ---

  std::vector<Repeated> operands_of(const Node& node, State& part) {
    std::vector<Repeated> operands;
    for (const TensorId id : node.inputs) {
      const State its = state_of(id);
      operands.push_back(its.tensor);
      join_parts(part, its);
    }
    return operands;
  }

  void compute(const Node& node) {
    State part{Repeated(), {}};
    const std::vector<Repeated> operands = operands_of(node, part);
    if (std::ranges::all_of(operands, [](const Repeated& tensor) { return tensor.is_plain(); }))
      return;
    auto repeated = repeated_operator(graph_, node, operands);
    if (!repeated || makes_large_constant(*repeated)) return;
    add_step(node, std::move(repeated->texts), part,
             repeated->reassociates ? FloatBehavior::kReassociates : FloatBehavior::kExact,
             ops::definition_of(node)->op_class == ops::OpClass::kContraction);
    left_out_[node.outputs[0]] = std::move(repeated->left_out);
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      take_result(node.outputs[o], std::move(repeated->results[o]), part);
  }

  /// Rows of a table of weights are computed before they are chosen, unless the table grows too
  /// large.
  bool makes_large_constant(const RepeatedOperator& repeated) const {
    return product_of(repeated.results[0].base_shape) > kMostRepeatedElements &&
           product_of(repeated.results[0].base_shape) > product_of(repeated.results[0].shape);
  }

  void take_result(TensorId id, Repeated result, const State& part) {
    result.base = next_base_++;
    states_.insert_or_assign(id, State{std::move(result), part.part});
  }

  /// False: it is no use to multiply parts of the join by themselves.
  bool multiply(const JoinedProduct& found) {
    const TensorId join = found.join->outputs[0];
    if (!state_of(join).tensor.is_plain() || graph_.is_constant_expression(join)) return false;
    State part{Repeated(), {}};
    const State weight = state_of(found.product->inputs[1]);
    if (!weight.tensor.is_plain()) return false;
    join_parts(part, weight);
    std::vector<JoinedPart> parts;
    for (const TensorId id : found.join->inputs) {
      const State its = state_of(id);
      join_parts(part, its);
      auto terms =
          its.tensor.is_plain() ? terms_of(id, found.axis, part) : std::vector<JoinedPart::Term>();
      const auto shared = shared_.find(key_of(found, parts.size()));
      parts.push_back({.tensor = its.tensor,
                       .is_shared = terms.empty() && its.tensor.is_plain() &&
                                    shared != shared_.end() && !graph_.is_constant_expression(id),
                       .terms = std::move(terms)});
    }
    auto summed = summed_product(graph_, found, parts, weight.tensor.base);
    if (!summed) return false;
    const Node& last = found.last();
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (parts[k].is_shared) note_shared(found, k, part);
    add_step(last, std::move(summed->texts), part, FloatBehavior::kReassociates, true);
    take_result(last.outputs[0], std::move(summed->result), part);
    with_bias_.insert(last.outputs[0]);
    return true;
  }

  // --- Products that several joins have in common ---

  /// A part of a join, the matrix and its first row for the part.
  using Key = std::tuple<TensorId, TensorId, std::int64_t>;
  struct Shared {
    JoinedProduct found;
    std::size_t part_of_join = 0;
    std::size_t count = 0, taken = 0;
    State part = {Repeated(), {}};
  };

  Key key_of(const JoinedProduct& found, std::size_t part) const {
    std::int64_t start = 0;
    for (std::size_t k = 0; k < part; ++k) start += shape_of(found.join->inputs[k])[found.axis];
    return {found.join->inputs[part], found.product->inputs[1], start};
  }

  /// Tensors that are read by joins alone, each of which is multiplied by one matrix.
  void find_shared() {
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (graph_.is_constant_expression(id) || !has_known_sizes(graph_, node)) continue;
      const auto found = joined_product(graph_, node);
      if (!found || found->reshape != nullptr ||
          graph_.consumers(found->join->outputs[0]).size() != 1 ||
          !graph_.is_constant_expression(node.inputs[1]))
        continue;
      for (std::size_t k = 0; k < found->join->inputs.size(); ++k) {
        Shared& shared = shared_[key_of(*found, k)];
        shared = {.found = *found, .part_of_join = k, .count = shared.count + 1};
      }
    }
    std::erase_if(shared_, [&](const auto& entry) {
      const TensorId rows = std::get<0>(entry.first);
      return entry.second.count < 2 || graph_.is_output(rows) ||
             graph_.consumers(rows).size() != entry.second.count;
    });
  }

  void note_shared(const JoinedProduct& found, std::size_t k, State& part) {
    Shared& shared = shared_.at(key_of(found, k));
    ++shared.taken;
    if (!part.part) part.part = parts_.make();
    join_parts(shared.part, part);
  }

  /// Once all joins are sums of products, the products of a shared part are equal.
  void merge_shared() {
    for (auto& [key, shared] : shared_) {
      if (shared.taken != shared.count) continue;
      const TensorId rows = std::get<0>(key);
      parts_.add(*shared.part.part,
                 {.results = {},
                  .readers_of = {rows},
                  .texts = shared_product(graph_, shared.found, shared.part_of_join, shared.count),
                  .description = kRepetitionDescription},
                 true);
    }
  }

  /// The operands of a sum or difference, if one of them is repeated for it.
  std::vector<JoinedPart::Term> terms_of(TensorId id, std::size_t axis, State& part) {
    const NodeId producer = graph_.tensor(id).producer;
    if (!producer.valid() || graph_.is_constant_expression(id)) return {};
    const Node& node = graph_.node(producer);
    const ops::Arithmetic how = ops::arithmetic_of(*node.op);
    if (how != ops::Arithmetic::kSum && how != ops::Arithmetic::kDifference) return {};
    const auto left_out = left_out_.find(id);
    const Sizes shape = shape_of(id);
    std::vector<JoinedPart::Term> terms;
    bool is_repeated = false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const State its = state_of(node.inputs[k]);
      if (its.tensor.shape.size() != shape.size() || its.tensor.shape[axis] != shape[axis])
        return {};
      is_repeated = is_repeated || product_of(its.tensor.base_shape) < product_of(shape);
      terms.push_back({node.inputs[k], its.tensor,
                       left_out == left_out_.end() ? std::vector<bool>() : left_out->second[k]});
    }
    if (!is_repeated) return {};
    for (const TensorId input : node.inputs) join_parts(part, state_of(input));
    return terms;
  }

  // --- Parts of the graph ---

  void join_parts(State& into, const State& other) {
    into.part = parts_.join(into.part, other.part);
  }
  void add_step(const Node& node, std::vector<std::string> texts, State& after,
                FloatBehavior floats, bool is_product) {
    if (!after.part) after.part = parts_.make();
    parts_.add(*after.part,
               {.results = node.outputs,
                .texts = std::move(texts),
                .description = kRepetitionDescription,
                .floats = floats},
               is_product);
  }

  const Graph& graph_;
  std::map<TensorId, State> states_;
  std::map<TensorId, std::vector<std::vector<bool>>> left_out_;  ///< By result, of its operands.
  std::map<Key, Shared> shared_;
  std::set<TensorId> with_bias_;  ///< Sums of which a step is made already.
  std::size_t next_base_ = 0;
  SequenceParts parts_;
};

}  // namespace

std::vector<RewriteSequence> find_repetition(const Graph& graph) {
  return RepetitionPlanner(graph).run();
}

}  // namespace soapstone::transforms
