// See flat_expression.h.
#include "gpu/forms/flat_expression.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace soapstone::gpu {
namespace {

using runtime::generated::Digit;
using runtime::generated::IndexSpace;
using runtime::generated::RegionTensor;
using runtime::generated::StageTree;
using runtime::generated::TreeNode;

using ops::evaluation::NodeKind;

/// Where loops are cut, by the order in which they are met: multiples of these numbers.
using Cuts = std::map<std::size_t, std::set<std::int64_t>>;

class Flattener {
 public:
  Flattener(const Region& region, const Cuts& cuts, std::optional<std::uint32_t> known)
      : region_(region), cuts_(cuts), known_(known) {}

  /// False: see missing() and is_affine().
  bool run(std::uint32_t tensor, const core::Dims& dims) {
    Affine position;
    for (const std::int64_t size : dims) {
      Affine scaled;
      scaled.add(position, size);
      scaled.add(cut_loop(0, size, result_.axes), 1);
      position = scaled;
    }
    read(tensor, position);
    // The root comes last: a result that is read as it is needs no node behind it.
    return is_affine_ && !missing_;
  }

  FlatExpression take() { return std::move(result_); }
  bool is_affine() const { return is_affine_; }
  /// A cut without which positions have digits.
  const std::optional<std::pair<std::size_t, std::int64_t>>& missing() const { return missing_; }

 private:
  using Substitution = std::map<std::uint32_t, Affine>;

  /// The value of a loop as a sum of its pieces, which are added to `loops`.
  Affine cut_loop(std::int64_t low, std::int64_t size, std::vector<FlatLoop>& loops) {
    const std::size_t source = sources_++;
    std::vector<std::int64_t> strides{1};
    if (const auto found = cuts_.find(source); found != cuts_.end())
      strides.insert(strides.end(), found->second.begin(), found->second.end());
    Affine value{low, {}};
    std::int64_t above = size;
    for (auto stride = strides.rbegin(); stride != strides.rend(); ++stride) {
      if (above % *stride != 0) is_affine_ = false;
      const std::uint32_t variable = space_.add("v", 0, std::max<std::int64_t>(above / *stride, 1));
      source_of_[variable] = {source, *stride};
      loops.push_back({variable, above / *stride});
      if (above / *stride > 1) value.add(IndexSpace::value_of(variable), *stride);
      above = *stride;
    }
    return value;
  }

  std::uint32_t add(FlatNode node) {
    result_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(result_.nodes.size() - 1);
  }

  std::uint32_t read(std::uint32_t tensor, const Affine& position) {
    const auto key = std::tuple(tensor, position.constant, position.coefficients);
    if (const auto found = reads_.find(key); found != reads_.end()) return found->second;
    const RegionTensor& facts = region_.tensors[tensor];
    std::uint32_t number = 0;
    if (facts.stage && tensor != known_) {
      const StageTree& tree = region_.stages[*facts.stage].tree;
      const auto indices = space_.indices_at(position, Region::sizes_of(tree));
      Substitution at;
      for (std::size_t k = 0; k < indices.size(); ++k) at[tree.index[k].variable] = indices[k];
      number = visit(tree.body, at);
    } else {
      check(position);
      FlatNode node;
      node.kind = NodeKind::kRead;
      node.tensor = tensor;
      node.position = position;
      number = add(std::move(node));
    }
    return reads_.emplace(key, number).first->second;
  }

  /// Notes the cut that a digit in the position needs.
  void check(const Affine& position) {
    for (const auto& [variable, coefficient] : position.coefficients) {
      const std::optional<Digit>& digit = space_.variable(variable).digit;
      if (!digit || missing_) continue;
      const bool is_of_one = digit->of.constant == 0 && digit->of.coefficients.size() == 1 &&
                             digit->of.coefficients.begin()->second == 1;
      const auto source =
          is_of_one ? source_of_.find(digit->of.coefficients.begin()->first) : source_of_.end();
      const std::int64_t cut = digit->divisor > 1 ? digit->divisor : digit->modulus;
      if (source == source_of_.end() || cut <= 1)
        is_affine_ = false;
      else
        missing_ = {source->second.first, cut * source->second.second};
    }
  }

  std::uint32_t visit(const TreeNode& tree, Substitution at) {
    if (tree.kind == NodeKind::kRead) return read(tree.tensor, substituted(tree.position, at));
    FlatNode node;
    node.kind = tree.kind;
    node.number = tree.number;
    node.function = tree.function;
    if (tree.kind == NodeKind::kIndexValue || tree.kind == NodeKind::kLookup) is_affine_ = false;
    for (std::size_t k = 0; k < tree.children.size(); ++k) {
      if (k < tree.domains.size()) {
        node.is_conditional |= !tree.domains[k].constraints.empty();
        for (const auto& range : tree.domains[k].ranges)
          at[range.variable] = cut_loop(range.low, range.high - range.low, node.loops);
      }
      node.children.push_back(visit(tree.children[k], at));
    }
    return add(std::move(node));
  }

  Affine substituted(const Affine& a, const Substitution& at) {
    Affine result{a.constant, {}};
    for (const auto& [variable, c] : a.coefficients)
      if (const auto found = at.find(variable); found != at.end()) result.add(found->second, c);
    return space_.joined(result);
  }

  const Region& region_;
  const Cuts& cuts_;
  std::optional<std::uint32_t> known_;
  IndexSpace space_;
  FlatExpression result_;
  std::size_t sources_ = 0;
  std::map<std::uint32_t, std::pair<std::size_t, std::int64_t>> source_of_;  // loop and stride
  std::map<std::tuple<std::uint32_t, std::int64_t, std::map<std::uint32_t, std::int64_t>>,
           std::uint32_t>
      reads_;
  bool is_affine_ = true;
  std::optional<std::pair<std::size_t, std::int64_t>> missing_;
};

void collect_terms(const FlatExpression& e, AddedTerm term, std::vector<AddedTerm>& terms) {
  const FlatNode& node = e.nodes[term.node];
  if (node.kind == NodeKind::kAdd) {
    for (const std::uint32_t child : node.children) collect_terms(e, {child, term.factor}, terms);
    return;
  }
  if (node.kind == NodeKind::kMul) {
    std::optional<std::uint32_t> rest;
    double factor = term.factor;
    for (const std::uint32_t child : node.children) {
      if (const auto number = evaluate(e, child, e.nodes.size(), 0))
        factor *= *number;
      else if (std::exchange(rest, child))
        return terms.push_back(term);
    }
    if (rest) return collect_terms(e, {*rest, factor}, terms);
  }
  terms.push_back(term);
}

}  // namespace

Affine position_of_element(std::span<const FlatLoop> axes) {
  Affine position;
  std::int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->size > 1) position.add(IndexSpace::value_of(axis->variable), stride);
    stride *= axis->size;
  }
  return position;
}

std::vector<AddedTerm> terms_of(const FlatExpression& expression, std::size_t node) {
  std::vector<AddedTerm> terms;
  collect_terms(expression, {static_cast<std::uint32_t>(node), 1}, terms);
  return terms;
}

core::Result<FlatExpression> flatten(const Region& region, std::uint32_t tensor,
                                     const core::Dims& dims, std::optional<std::uint32_t> known) {
  constexpr int kMostCuts = 16;
  if (std::ranges::any_of(region.tensors, [](const auto& t) { return t.elements == 0; }))
    return core::unsupported("a tensor without elements");
  Cuts cuts;
  for (int attempt = 0; attempt < kMostCuts; ++attempt) {
    Flattener flattener(region, cuts, known);
    if (flattener.run(tensor, dims)) return flattener.take();
    if (!flattener.is_affine() || !flattener.missing()) break;
    const auto [source, cut] = *flattener.missing();
    if (!cuts[source].insert(cut).second) break;
  }
  return core::unsupported("positions that are no sums of loop variables");
}

std::optional<double> evaluate(const FlatExpression& expression, std::size_t node,
                               std::size_t variable, double value) {
  if (node == variable) return value;
  const FlatNode& n = expression.nodes[node];
  std::vector<double> arguments;
  for (const std::uint32_t child : n.children) {
    const auto argument = evaluate(expression, child, variable, value);
    if (!argument) return std::nullopt;
    arguments.push_back(*argument);
  }
  double result = n.kind == NodeKind::kMul ? 1 : 0;
  switch (n.kind) {
  case NodeKind::kNumber:
    return static_cast<double>(n.number.numerator) / static_cast<double>(n.number.denominator);
  case NodeKind::kAdd:
    for (const double argument : arguments) result += argument;
    return result;
  case NodeKind::kMul:
    for (const double argument : arguments) result *= argument;
    return result;
  case NodeKind::kInverse:
    return 1 / arguments[0];
  case NodeKind::kApply:
    return ops::evaluate(n.function, arguments);
  case NodeKind::kMax:
    if (!n.loops.empty() || n.is_conditional) return std::nullopt;
    return *std::max_element(arguments.begin(), arguments.end());
  default:
    return std::nullopt;
  }
}

}  // namespace soapstone::gpu
