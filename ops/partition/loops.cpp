// Loops are classes of digits: of index variables, sums and dimensions of inputs that are read
// element for element. Each class that can be cut is a loop.
#include "ops/partition/loops.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/definition/registry.h"
#include "ops/partition/digit_space.h"
#include "ops/partition/joining.h"
#include "ops/partition/places.h"

namespace soapstone::ops {
namespace {

using partition::Access;
using partition::DigitSpace;

/// Digits that must be cut alike, because the definition reads one where it has the other.
class DigitClasses {
 public:
  explicit DigitClasses(const DigitSpace& space) : space_(space) {
    for (std::uint32_t k = 0; k < space.input_count(); ++k) {
      first_of_input_.push_back(parent_.size());
      for (const partition::DimDigit& digit : space.digits_of(k)) add(digit.size);
    }
    for (std::size_t s = 0; s < space.semantics().stages.size(); ++s)
      for (Symbol symbol : space.index_of(tensor_of(s)))
        add_symbol(symbol, space.stage_ranges().at(symbol).high);
    for (const Access& access : space.accesses()) unite_read(access);
  }

  /// In the order of output dimensions, then of sums: digits that are index variables.
  std::vector<std::set<Symbol>> loops() const {
    std::map<std::size_t, std::set<Symbol>> members;
    for (const auto& [symbol, element] : symbols_)
      if (sizes_[element] > 1) members[root(element)].insert(symbol);
    std::vector<std::set<Symbol>> ordered;
    std::set<std::size_t> seen;
    const auto take = [&](std::size_t element) {
      const auto found = members.find(root(element));
      if (found != members.end() && seen.insert(found->first).second)
        ordered.push_back(found->second);
    };
    for (std::uint32_t output : space_.semantics().outputs)
      for (Symbol symbol : space_.index_of(output)) take(symbols_.at(symbol));
    // A sum is a loop if it runs along a dimension of an input.
    for (std::size_t element = 0; element < input_digits(); ++element) take(element);
    return ordered;
  }

  std::int64_t size_of(Symbol symbol) const { return sizes_[symbols_.at(symbol)]; }

 private:
  std::uint32_t tensor_of(std::size_t stage) const {
    return static_cast<std::uint32_t>(space_.input_count() + stage);
  }
  std::size_t input_digits() const {
    return first_of_input_.empty()
               ? 0
               : first_of_input_.back() +
                     space_.digits_of(static_cast<std::uint32_t>(space_.input_count() - 1)).size();
  }

  std::size_t add(std::int64_t size) {
    parent_.push_back(parent_.size());
    sizes_.push_back(size);
    return parent_.size() - 1;
  }

  void add_symbol(Symbol symbol, std::int64_t size) {
    if (!symbols_.contains(symbol)) symbols_[symbol] = add(size);
  }

  std::size_t root(std::size_t element) const {
    while (parent_[element] != element) element = parent_[element];
    return element;
  }

  void unite_read(const Access& access) {
    analysis::Ranges ranges = space_.stage_ranges();
    if (!space_.add_binders(access.binders, ranges)) return;
    for (const Binder& b : access.binders)
      for (const partition::VariableDigit& d : space_.digits_of(b.variable))
        add_symbol(d.symbol, d.size);
    if (!analysis::narrow(access.bounds, ranges) || !analysis::narrow(access.selections, ranges))
      return;
    for (const analysis::Digits& group : space_.groups_of(access, ranges)) {
      const auto& terms = group.position.terms();
      const std::int64_t size = space_.digits_of(access.tensor)[group.first].size;
      if (group.first != group.last || terms.size() != 1 || terms[0].coefficient != 1 ||
          group.position.constant() != 0)
        continue;
      const auto variable = symbols_.find(terms[0].monomial[0]);
      if (variable == symbols_.end() || sizes_[variable->second] != size) continue;
      parent_[root(variable->second)] = root(element_of(access.tensor, group.first));
    }
  }

  std::size_t element_of(std::uint32_t tensor, std::size_t digit) const {
    if (tensor < space_.input_count()) return first_of_input_[tensor] + digit;
    return symbols_.at(space_.index_of(tensor)[digit]);
  }

  const DigitSpace& space_;
  std::vector<std::size_t> parent_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::size_t> first_of_input_;
  std::map<Symbol, std::size_t> symbols_;
};

/// Each iteration has elements of its own, and all are some iteration's.
bool follows_exactly(const Loop& loop, std::size_t input, const core::Dims& dims) {
  return std::ranges::any_of(loop.follows, [&](const LoopPlace& place) {
    return place.tensor == input && place.divisor == 1 &&
           place.window == Interval{0, place.stride} &&
           (place.period > 0 || place.stride * loop.size == dims[place.dim]);
  });
}

DimRole role_of(const Loop& loop, const DigitSpace& space, const core::Node& node,
                const std::vector<bool>& is_weight) {
  if (!loop.between.empty()) return DimRole::kWhole;
  if (!loop.is_index()) return DimRole::kReduction;
  bool moves_weight = false, all_exact = true;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].valid()) continue;
    if (k < is_weight.size() && is_weight[k])
      moves_weight |= loop.input_place(k) != nullptr;
    else if (core::element_count(space.dims()[k]) > 1)  // a scalar hinders nothing
      all_exact &= follows_exactly(loop, k, space.dims()[k]);
  }
  return moves_weight ? DimRole::kParameter : all_exact ? DimRole::kSample : DimRole::kAttribute;
}

std::optional<Loop> loop_of(const DigitSpace& space, const std::set<Symbol>& digits) {
  const auto joining = partition::joining_of(space, digits);
  if (!joining) return std::nullopt;
  // An output that does not notice the cut would be computed by every part.
  if (joining->between.empty() &&
      std::ranges::find(joining->outputs, Joined::kSame) != joining->outputs.end())
    return std::nullopt;
  Loop loop;
  loop.joined = joining->outputs;
  loop.between = joining->between;
  loop.once = joining->once;
  loop.selected_by = joining->selected_by;
  loop.variables.assign(digits.begin(), digits.end());
  loop.outputs = partition::output_places(space, digits);
  loop.follows = partition::input_places(space, digits);
  return loop;
}

bool is_known(const core::Graph& graph, core::TensorId id) {
  if (!id.valid()) return true;
  const core::TensorType& type = graph.tensor(id).type;
  const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
  return dims && std::ranges::all_of(*dims, [](std::int64_t size) { return size > 0; });
}

bool is_known(const core::Graph& graph, const core::Node& node) {
  const auto known = [&](core::TensorId id) { return is_known(graph, id); };
  return !is_opaque(node) && std::ranges::all_of(node.inputs, known) &&
         std::ranges::all_of(node.outputs, known);
}

std::vector<bool> weights_among(const core::Node& node, const std::vector<bool>& is_weight) {
  std::vector<bool> result;
  for (core::TensorId t : node.inputs)
    result.push_back(t.valid() && t.index() < is_weight.size() && is_weight[t.index()]);
  return result;
}

/// Whether the analysis of both nodes is the same but for weights.
bool are_alike(const core::Graph& graph, const core::Node& a, const core::Node& b) {
  const auto same = [&](core::TensorId s, core::TensorId t) {
    return s.valid() == t.valid() && (!s.valid() || graph.tensor(s).type == graph.tensor(t).type);
  };
  return a.op == b.op && a.attributes == b.attributes &&
         std::ranges::equal(a.inputs, b.inputs, same) &&
         std::ranges::equal(a.outputs, b.outputs, same);
}

}  // namespace

const LoopPlace* Loop::output_place(std::size_t output) const {
  const auto found = std::ranges::find(outputs, output, &LoopPlace::tensor);
  return found == outputs.end() ? nullptr : &*found;
}

const LoopPlace* Loop::input_place(std::size_t input) const {
  const auto found = std::ranges::find(follows, input, &LoopPlace::tensor);
  return found == follows.end() ? nullptr : &*found;
}

PartitionSpace partition_space(const core::Graph& graph, core::NodeId id,
                               const std::vector<bool>& is_weight) {
  const core::Node& node = graph.node(id);
  if (!is_known(graph, node)) return {};
  PartitionSpace result;
  result.digits = std::make_shared<const DigitSpace>(graph, id);
  const DigitClasses classes(*result.digits);
  for (const std::set<Symbol>& digits : classes.loops()) {
    auto loop = loop_of(*result.digits, digits);
    if (!loop) continue;
    loop->size = classes.size_of(*digits.begin());
    loop->role = role_of(*loop, *result.digits, node, is_weight);
    result.loops.push_back(*std::move(loop));
  }
  return result;
}

std::vector<PartitionSpace> partition_spaces(const core::Graph& graph,
                                             const std::vector<bool>& is_weight) {
  std::vector<PartitionSpace> spaces(graph.node_bound());
  std::map<std::uint64_t, std::vector<core::NodeId>> known;
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    const std::vector<bool> weights = weights_among(node, is_weight);
    auto& candidates = known[node.local_hash];
    const auto twin = std::ranges::find_if(candidates, [&](core::NodeId other) {
      return are_alike(graph, node, graph.node(other)) &&
             weights_among(graph.node(other), is_weight) == weights;
    });
    if (twin != candidates.end()) {
      spaces[id.index()] = spaces[twin->index()];
      continue;
    }
    spaces[id.index()] = partition_space(graph, id, weights);
    candidates.push_back(id);
  }
  return spaces;
}

}  // namespace soapstone::ops
