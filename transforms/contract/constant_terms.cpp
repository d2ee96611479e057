#include "transforms/contract/constant_terms.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/registry.h"
#include "transforms/contract/rule_head.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using ops::Arithmetic;

/// Of a constant that is made of smaller ones.
constexpr std::int64_t kMostConstantElements = 1 << 16;

constexpr std::string_view kConstantsDescription =
    "Constants of a sum or product are one, or stand at the end, the smallest first.";

/// Sums have differences among them, products have no quotients: those by constants are products.
bool belongs(const Graph& graph, NodeId id, bool multiplies) {
  const Node& node = graph.node(id);
  if (node.op->is_opaque() || graph.is_constant_expression(id)) return false;
  const Arithmetic arithmetic = ops::arithmetic_of(*node.op);
  const bool is_such =
      multiplies ? arithmetic == Arithmetic::kProduct
                 : arithmetic == Arithmetic::kSum || arithmetic == Arithmetic::kDifference;
  return is_such && has_known_sizes(graph, node) &&
         core::is_floating(graph.tensor(node.outputs[0]).type.data_type);
}

/// Whether the second is what both are broadcast to.
bool fits_into(const Sizes& small, const Sizes& large) {
  return small.size() <= large.size() &&
         std::ranges::equal(small.rbegin(), small.rend(), large.rbegin(),
                            large.rbegin() + std::ssize(small),
                            [](std::int64_t a, std::int64_t b) { return a == 1 || a == b; });
}

class Terms {
 public:
  Terms(const Graph& graph, NodeId root, bool multiplies) : graph_(graph), multiplies_(multiplies) {
    collect(root, false);
  }

  enum class Form : std::uint8_t {
    kInOrder,         ///< Those that fit into larger ones are one with these.
    kAsOne,           ///< And the others as well: a sum of theirs is larger than each.
    kBehindProducts,  ///< In order, but directly behind a term that is a product of matrices.
  };
  /// The rule. None: constants stand already where they should, or are one in order, too.
  std::optional<std::string> text(Form form) const {
    std::vector<Term> rest, constants;
    for (const Term& term : terms_)
      (graph_.is_constant_expression(term.tensor) ? constants : rest).push_back(term);
    // A sum has to begin with what is not subtracted.
    const auto first = std::ranges::find(rest, false, &Term::is_subtracted);
    if (constants.empty() || first == rest.end()) return std::nullopt;
    if (form == Form::kBehindProducts) return behind_products(rest, constants);
    if (constants.size() < 2) return std::nullopt;
    std::rotate(rest.begin(), first, first + 1);
    std::vector<Term> sorted = constants;
    std::ranges::stable_sort(sorted, {}, [&](const Term& term) { return elements(term); });
    const std::vector<std::vector<Term>> groups = joined(sorted);
    if (form == Form::kAsOne) {
      if (groups.size() == 1 || elements_of_all(sorted) > kMostConstantElements)
        return std::nullopt;
      return written(rest, {sorted});
    }
    if (groups.size() == constants.size() && sorted == constants) return std::nullopt;
    return written(rest, groups);
  }

 private:
  struct Term {
    TensorId tensor;
    bool is_subtracted = false;
    bool operator==(const Term&) const = default;
  };

  /// None: no such term is added, all do stand there, or there is nothing else.
  std::optional<std::string> behind_products(std::vector<Term> rest,
                                             std::vector<Term> constants) const {
    const auto product = std::ranges::find_if(rest, [&](const Term& term) {
      const NodeId producer = graph_.tensor(term.tensor).producer;
      return !term.is_subtracted && producer.valid() && computes_products(producer) &&
             graph_.consumers(term.tensor).size() == 1 && !graph_.is_output(term.tensor);
    });
    if (multiplies_ || product == rest.end() || rest.size() < 2) return std::nullopt;
    const Term first = *product;
    rest.erase(product);
    std::ranges::stable_sort(constants, {}, [&](const Term& term) { return elements(term); });
    std::vector<Term> all{first};
    all.insert(all.end(), constants.begin(), constants.end());
    all.insert(all.end(), rest.begin(), rest.end());
    if (all == terms_) return std::nullopt;
    return written({first}, joined(constants), rest);
  }

  bool computes_products(NodeId id) const {
    const auto* const op = ops::definition_of(graph_.node(id));
    return op != nullptr && op->op_class == ops::OpClass::kContraction;
  }

  /// What is added first comes first: the terms of a sum that is a term before the others.
  void collect(NodeId id, bool is_subtracted) {
    const Node& node = graph_.node(id);
    std::vector<Term> last;
    for (std::size_t k = 0; k < 2; ++k) {
      const TensorId operand = node.inputs[k];
      const bool turns = k == 1 && ops::arithmetic_of(*node.op) == Arithmetic::kDifference;
      const NodeId producer = graph_.tensor(operand).producer;
      const bool goes_on = producer.valid() && !graph_.is_output(operand) &&
                           graph_.consumers(operand).size() == 1 &&
                           belongs(graph_, producer, multiplies_);
      if (goes_on)
        collect(producer, is_subtracted != turns);
      else
        last.push_back({operand, is_subtracted != turns});
    }
    terms_.insert(terms_.end(), last.begin(), last.end());
    nodes_.push_back(id);
  }

  Sizes shape(const Term& term) const { return known_sizes(graph_.tensor(term.tensor).type.shape); }
  std::int64_t elements(const Term& term) const { return core::element_count(shape(term)); }

  /// Of what the terms are broadcast to.
  std::int64_t elements_of_all(const std::vector<Term>& terms) const {
    Sizes all;
    for (const Term& term : terms) {
      const Sizes own = shape(term);
      all.insert(all.begin(), std::max(own.size(), all.size()) - all.size(), 1);
      for (std::size_t d = 0; d < own.size(); ++d) {
        std::int64_t& size = all[all.size() - own.size() + d];
        size = std::max(size, own[d]);
      }
    }
    return core::element_count(all);
  }

  /// The largest of a group is its last.
  std::vector<std::vector<Term>> joined(const std::vector<Term>& sorted) const {
    std::vector<std::vector<Term>> groups;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      std::vector<Term> group{sorted[k]};
      std::erase_if(groups, [&](const std::vector<Term>& smaller) {
        if (!fits_into(shape(smaller.back()), shape(sorted[k]))) return false;
        group.insert(group.begin(), smaller.begin(), smaller.end());
        return true;
      });
      groups.push_back(std::move(group));
    }
    return groups;
  }

  /// `last`: terms behind the constants.
  std::string written(const std::vector<Term>& rest, const std::vector<std::vector<Term>>& groups,
                      const std::vector<Term>& last = {}) const {
    RuleHead head(graph_);
    for (const Term& term : terms_) head.declare(term.tensor);
    SideText source, target;
    const auto with = [&](const std::string& sum, const std::string& term, bool is_subtracted) {
      const Arithmetic operation = multiplies_     ? Arithmetic::kProduct
                                   : is_subtracted ? Arithmetic::kDifference
                                                   : Arithmetic::kSum;
      return target.line(fmt::format("{}({}, {})", ops::operator_for(operation), sum, term));
    };
    std::string result = head.name(rest[0].tensor);
    for (std::size_t k = 1; k < rest.size(); ++k)
      result = with(result, head.name(rest[k].tensor), rest[k].is_subtracted);
    for (const std::vector<Term>& group : groups) {
      const Term& largest = group.back();
      std::string constant = head.name(largest.tensor);
      for (std::size_t k = 0; k + 1 < group.size(); ++k)
        constant = with(constant, head.name(group[k].tensor),
                        group[k].is_subtracted != largest.is_subtracted);
      result = with(result, constant, largest.is_subtracted);
    }
    for (const Term& term : last) result = with(result, head.name(term.tensor), term.is_subtracted);
    const std::string given = head.written(nodes_, source);
    return rule_text(fmt::format("{}{}", kConstantsPrefix, graph_.node(nodes_.back()).op->name),
                     head.text(), source, {given}, target, {result});
  }

  const Graph& graph_;
  bool multiplies_;
  std::vector<Term> terms_;
  std::vector<NodeId> nodes_;  ///< Operands first.
};

/// Whether its sum or product ends there.
bool is_root(const Graph& graph, NodeId id, bool multiplies) {
  const TensorId result = graph.node(id).outputs[0];
  const auto readers = graph.consumers(result);
  return graph.is_output(result) || readers.size() != 1 || !belongs(graph, readers[0], multiplies);
}

}  // namespace

std::vector<RewriteSequence> find_constant_terms(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    for (const bool multiplies : {false, true}) {
      if (!belongs(graph, id, multiplies) || !is_root(graph, id, multiplies)) continue;
      const Terms terms(graph, id, multiplies);
      bool is_alternative = false;
      for (const Terms::Form form :
           {Terms::Form::kInOrder, Terms::Form::kAsOne, Terms::Form::kBehindProducts}) {
        auto text = terms.text(form);
        if (!text) continue;
        plans.push_back({{RewriteStep{.results = {graph.node(id).outputs[0]},
                                      .texts = {*std::move(text)},
                                      .description = kConstantsDescription,
                                      .floats = FloatBehavior::kReassociates}},
                         is_alternative});
        is_alternative = true;
      }
    }
  }
  return plans;
}

}  // namespace soapstone::transforms
