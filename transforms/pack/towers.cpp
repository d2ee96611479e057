#include "transforms/pack/towers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "transforms/base/independence.h"
#include "transforms/pack/lifted_operator.h"
#include "transforms/pack/pieces.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;
using Tuple = std::vector<TensorId>;

/// Packs that end apart are many in large graphs.
constexpr std::size_t kMostPacks = 200;
/// Of kinds that take turns in a join.
constexpr std::size_t kLongestPeriod = 4;

constexpr std::string_view kTowersDescription =
    "What is done to each item is done to the tensor of which they are items.";

/// What siblings have in common.
std::string kind_of(const Graph& graph, const Node& node) {
  std::string kind = node.op->name;
  for (const auto& [name, value] : node.attributes.values())
    kind += fmt::format(";{}={}", name, core::to_string(value, graph.symbols()));
  for (const TensorId input : node.inputs) {
    if (!input.valid()) {
      kind += ",_";
      continue;
    }
    const core::TensorType& type = graph.tensor(input).type;
    kind += fmt::format(",{}{}", core::to_string(type.data_type),
                        core::to_string(type.shape, graph.symbols()));
  }
  return kind;
}

class Packer {
 public:
  explicit Packer(const Graph& graph) : graph_(graph), independence_(graph) {}

  std::vector<RewriteSequence> run() {
    const auto order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) end_in_join(graph_.node(*id));
    for (auto id = order.rbegin(); id != order.rend(); ++id) end_in_sum(*id);
    end_apart();
    return std::move(found_);
  }

 private:
  const core::TensorType& type(TensorId id) const { return graph_.tensor(id).type; }
  Lifting lifting_of(const Node& node, std::size_t count) const {
    return {.graph = graph_, .node = node, .count = count, .sources = {}};
  }
  bool have_one_type(const Tuple& tuple) const {
    return tuple.size() >= 2 && tuple.size() <= kMostTowers &&
           std::ranges::all_of(tuple, [&](TensorId id) { return type(id) == type(tuple[0]); });
  }

  void end_in_join(const Node& node) {
    if (node.op->movement != Movement::kJoin || found_.size() >= kMostPacks) return;
    steps_.clear();
    lifted_.clear();
    Lifting ending = lifting_of(node, 0);
    for (std::size_t k = 0; k < node.inputs.size();) {
      const Run run = run_from(node.inputs, k);
      const bool is_lifted = run.count >= 2 && lift_run(node.inputs, run);
      if (is_lifted) ending.runs.push_back(run);
      k = is_lifted ? run.end() : k + 1;
    }
    if (!ending.runs.empty() && join(node, ending)) found_.push_back({std::move(steps_)});
  }

  bool join(const Node& node, const Lifting& ending) {
    const std::vector<Run>& runs = ending.runs;
    if (runs.size() == 1 && runs[0].period * runs[0].count == node.inputs.size())
      return add_ending({node.outputs[0]}, joined_items, ending);
    if (!add_ending({node.outputs[0]}, joined_in_groups, ending)) return false;
    std::size_t members = 0;  // of the groups before, less the groups
    for (const Run& run : runs) {
      Lifting group = ending;
      group.runs = {run};
      if (!add_ending({}, joined_items, group)) return false;
      steps_.back().operand = run.first - members;
      members += run.period * run.count - 1;
    }
    return true;
  }

  /// The operand's producer, as one of siblings.
  std::string kind_of_operand(TensorId id) const {
    const NodeId its = graph_.tensor(id).producer;
    return its.valid() && !graph_.is_constant_expression(id) ? kind_of(graph_, graph_.node(its))
                                                             : std::string();
  }

  /// The longest run that begins there; of runs equally long the one with the shortest period.
  Run run_from(const Tuple& operands, std::size_t first) const {
    Run longest{.first = first, .count = 1};
    for (std::size_t period = 1; period <= kLongestPeriod; ++period) {
      std::size_t length = 0;
      while (first + length < operands.size() && length < kMostTowers * period &&
             goes_on(operands, first, period, length))
        ++length;
      const Run run{first, period, length / period};
      if (run.count >= 2 && run.end() > longest.end()) longest = run;
    }
    return longest;
  }

  bool goes_on(const Tuple& operands, std::size_t first, std::size_t period,
               std::size_t length) const {
    const TensorId id = operands[first + length];
    if (type(id) != type(operands[first])) return false;
    const std::string kind = kind_of_operand(id);
    return !kind.empty() &&
           (length < period || kind == kind_of_operand(operands[first + length - period]));
  }

  bool lift_run(const Tuple& operands, const Run& run) {
    for (std::size_t k = 0; k < run.period; ++k) {
      Tuple tuple;
      for (std::size_t i = 0; i < run.count; ++i)
        tuple.push_back(operands[run.first + i * run.period + k]);
      if (!have_one_type(tuple) || !lift(tuple)) return false;
    }
    return true;
  }

  bool is_sum(NodeId id) const {
    return id.valid() && ops::arithmetic_of(*graph_.node(id).op) == ops::Arithmetic::kSum &&
           have_one_type(graph_.node(id).inputs);
  }

  /// A sum ends a pack at its last addition.
  void end_in_sum(NodeId last) {
    if (!is_sum(last)) return;
    const TensorId result = graph_.node(last).outputs[0];
    const auto readers = graph_.consumers(result);
    if (readers.size() == 1 && is_sum(readers[0]) && graph_.node(readers[0]).inputs[0] == result)
      return;
    Tuple terms;
    NodeId at = last;
    for (;;) {
      const Node& node = graph_.node(at);
      terms.insert(terms.begin(), node.inputs[1]);
      const NodeId before = graph_.tensor(node.inputs[0]).producer;
      const bool goes_on = is_sum(before) && graph_.consumers(node.inputs[0]).size() == 1 &&
                           !graph_.is_output(node.inputs[0]);
      if (!goes_on) {
        terms.insert(terms.begin(), node.inputs[0]);
        break;
      }
      at = before;
    }
    if (!have_one_type(terms)) return;
    const std::vector<bool> items = alike(terms);
    const auto others = static_cast<std::size_t>(std::ranges::count(items, false));
    Lifting sum = lifting_of(graph_.node(last), terms.size() - others);
    if (others > 0) sum.items = items;
    Tuple summed;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (items[k]) summed.push_back(terms[k]);
    if (have_one_type(summed))
      finish(summed, result, summed_items, std::move(sum), FloatBehavior::kReassociates);
  }

  /// Which tensors are of the kind of which there are most.
  std::vector<bool> alike(const Tuple& tuple) const {
    std::map<std::string, std::size_t> counts;
    std::vector<std::string> kinds;
    for (const TensorId id : tuple) {
      kinds.push_back(kind_of_operand(id));
      if (!kinds.back().empty()) ++counts[kinds.back()];
    }
    std::vector<bool> found(tuple.size());
    const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
    for (std::size_t k = 0; k < tuple.size(); ++k)
      found[k] = most != counts.end() && kinds[k] == most->first;
    return found;
  }

  /// A sum of products that were lifted is a contraction.
  void contract(const Tuple& terms, const Lifting& sum, TensorId result) {
    const NodeId its = graph_.tensor(terms[0]).producer;
    if (ops::arithmetic_of(*graph_.node(its).op) != ops::Arithmetic::kProduct ||
        !are_siblings(terms))
      return;
    Lifting product = lifting_of(graph_.node(its), terms.size());
    for (std::size_t k = 0; k < product.node.inputs.size(); ++k)
      product.sources.push_back(source_of(terms, k));
    const bool is_all = sum.items.empty();
    if (add_ending(is_all ? Tuple{result} : Tuple{}, summed_products, product,
                   FloatBehavior::kReassociates) &&
        !is_all)
      steps_.back().operand = 1;
  }

  /// Siblings that were lifted for no pack so far, kept or not.
  void end_apart() {
    std::map<std::pair<std::string, std::size_t>, Tuple> alike;
    const std::vector<std::size_t> depths = depths_of(graph_);
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.outputs.size() == 1 && !graph_.is_constant_expression(id))
        alike[{kind_of(graph_, node), depths[id.index()]}].push_back(node.outputs[0]);
    }
    std::vector<std::pair<std::size_t, Tuple>> by_depth;
    for (auto& [kind, tuple] : alike) by_depth.emplace_back(kind.second, std::move(tuple));
    std::ranges::stable_sort(by_depth, std::ranges::greater{},
                             [](const auto& entry) { return entry.first; });
    for (auto& [ignored, tuple] : by_depth) {
      std::erase_if(tuple, [&](TensorId id) { return packed_.contains(id); });
      if (have_one_type(tuple)) finish(tuple);
    }
  }

  using Writer = std::optional<std::string> (*)(const Lifting&);

  void finish(const Tuple& tuple, TensorId result = TensorId::none(), Writer end = nullptr,
              std::optional<Lifting> ending = {}, FloatBehavior floats = FloatBehavior::kExact) {
    if (found_.size() >= kMostPacks) return;
    steps_.clear();
    lifted_.clear();
    if (!lift(tuple) || (end != nullptr && !add_ending({result}, end, *ending, floats))) return;
    if (end == summed_items) contract(tuple, *ending, result);
    packed_.insert(tuple.begin(), tuple.end());
    found_.push_back({std::move(steps_)});
  }

  void add_step(Tuple results, std::vector<std::string> texts,
                FloatBehavior floats = FloatBehavior::kExact) {
    steps_.push_back({.results = std::move(results),
                      .texts = std::move(texts),
                      .description = kTowersDescription,
                      .floats = floats});
  }

  bool add_step(Tuple results, Writer write, Lifting lifting,
                FloatBehavior floats = FloatBehavior::kExact) {
    std::vector<std::string> texts;
    // What a reshape says of sizes is no polynomial in the sizes of its operand.
    const bool relates_sizes = lifting.node.op->movement == Movement::kReshape;
    for (const bool any_sizes : {true, false}) {
      if (any_sizes && relates_sizes) continue;
      lifting.any_sizes = any_sizes;
      auto text = write(lifting);
      if (!text) return false;
      texts.push_back(*std::move(text));
    }
    add_step(std::move(results), std::move(texts), floats);
    return true;
  }

  bool add_ending(Tuple results, Writer write, const Lifting& lifting,
                  FloatBehavior floats = FloatBehavior::kExact) {
    if (!add_step(std::move(results), write, lifting, floats)) return false;
    steps_.back().ends = true;
    return true;
  }

  /// True: the tensors are items of one, once the steps so far are taken.
  bool lift(const Tuple& tuple) {
    const auto [known, is_new] = lifted_.emplace(tuple, false);
    if (!is_new) return known->second;
    const bool is_lifted = are_pieces(tuple) ? take_pieces(tuple) : lift_siblings(tuple);
    lifted_[tuple] = is_lifted;
    if (is_lifted) packed_.insert(tuple.begin(), tuple.end());
    return is_lifted;
  }

  bool lift_siblings(const Tuple& tuple) {
    if (!are_siblings(tuple)) return false;
    const Node& node = producer(tuple[0]);
    if (!can_be_lifted(graph_, node)) return false;
    Lifting lifting = lifting_of(node, tuple.size());
    bool has_own = false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      lifting.sources.push_back(source_of(tuple, k));
      has_own = has_own || lifting.sources.back() == Source::kItems ||
                lifting.sources.back() == Source::kSeparate;
    }
    if (!has_own) return false;
    return add_step(tuple, lifted_operator, lifting,
                    is_lifted_in_steps(lifting) ? FloatBehavior::kReassociates
                                                : FloatBehavior::kExact);
  }

  const Node& producer(TensorId id) const { return graph_.node(graph_.tensor(id).producer); }

  Source source_of(const Tuple& tuple, std::size_t k) {
    Tuple operands;
    for (const TensorId id : tuple) operands.push_back(producer(id).inputs[k]);
    if (!operands[0].valid()) return Source::kMissing;
    if (std::ranges::count(operands, operands[0]) == std::ssize(operands)) return Source::kShared;
    const bool constant = std::ranges::all_of(
        operands, [&](TensorId id) { return graph_.is_constant_expression(id); });
    return !constant && lift(operands) ? Source::kItems : Source::kSeparate;
  }

  /// Results of different nodes of one kind of which none needs another.
  bool are_siblings(const Tuple& tuple) const {
    std::set<NodeId> nodes;
    for (const TensorId id : tuple) {
      const NodeId its = graph_.tensor(id).producer;
      if (!its.valid() || graph_.node(its).outputs.size() != 1 ||
          graph_.node(its).op->is_opaque() || graph_.is_constant_expression(id) ||
          !nodes.insert(its).second)
        return false;
    }
    const std::string kind = kind_of(graph_, producer(tuple[0]));
    return std::ranges::all_of(
               nodes, [&](NodeId id) { return kind_of(graph_, graph_.node(id)) == kind; }) &&
           independence_.holds(nodes);
  }

  /// Whether these are all pieces of one tensor along one dimension, in order.
  bool are_pieces(const Tuple& tuple) const {
    const NodeId first = graph_.tensor(tuple[0]).producer;
    if (!first.valid()) return false;
    const Movement how = graph_.node(first).op->movement;
    if (how == Movement::kSplit) return graph_.node(first).outputs == tuple;
    if (how != Movement::kCut) return false;
    return taken_pieces(graph_, tuple).has_value();
  }

  bool take_pieces(const Tuple& tuple) {
    auto text = taken_pieces(graph_, tuple);
    if (!text) return false;
    add_step(tuple, {*std::move(text)});
    return true;
  }

  const Graph& graph_;
  Independence independence_;
  std::vector<RewriteSequence> found_;
  std::set<TensorId> packed_;
  std::vector<RewriteStep> steps_;  ///< Of the pack that is being made.
  std::map<Tuple, bool> lifted_;    ///< Likewise.
};

}  // namespace

std::vector<RewriteSequence> find_towers(const Graph& graph) { return Packer(graph).run(); }

}  // namespace soapstone::transforms
