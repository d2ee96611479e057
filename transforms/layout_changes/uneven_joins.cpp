#include "transforms/layout_changes/uneven_joins.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/base/independence.h"
#include "transforms/layout_changes/uneven_sizes.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;
using Tuple = std::vector<TensorId>;

constexpr std::size_t kMostJoined = 16;
/// Operators that are done to all of the joined tensors.
constexpr std::size_t kMostLevels = 40;

constexpr std::string_view kUnevenDescription =
    "What is done to each of several tensors is done to their join.";

/// The plan of one join.
class Lifter : UnevenSizes {
 public:
  Lifter(const Graph& graph, const Independence& independence)
      : UnevenSizes(graph), graph_(graph), independence_(independence) {}

  std::optional<RewriteSequence> plan(const Node& join) {
    const JoinForm form{ops::axis_by_role(join), 1};
    if (!lift(join.inputs, form) || !has_functions_) return std::nullopt;
    Text text(*this);
    const auto operand = text.operand(join.inputs, places_of(join.inputs, form));
    const std::string y = text.source.joined(operand.pieces, form.before);
    add_step({join.outputs[0]}, text.rule(join.op->name, {y}, {operand.whole}));
    return RewriteSequence{std::move(steps_)};
  }

 private:
  /// What a rule reads in its source, and in its target.
  struct Operand {
    Names pieces;
    std::string whole;
  };

  /// A rule about one step.
  struct Text {
    explicit Text(const Lifter& lifter) : lifter_(lifter) {}

    std::string leaf(TensorId id, const Names& sizes) {
      const auto [known, is_new] = leaves_.try_emplace(id, fmt::format("x{}", leaves_.size()));
      if (is_new) declare(known->second, id, sizes);
      return known->second;
    }
    void declare(const std::string& name, TensorId like, const Names& sizes) {
      head_ += fmt::format("  {}: {}\n", name, declared(lifter_.graph_.tensor(like).type, sizes));
    }
    /// What stands in the places of the tensors, as pieces of their join.
    Names pieces_of(SideText& side, const std::string& whole, const Tuple& tuple,
                    const JoinPlaces& places) const {
      Names lengths;
      for (std::size_t k = 0; k < tuple.size(); ++k) lengths.push_back(places.length(k));
      Names pieces = side.split(whole, places.form.before, lengths);
      for (std::size_t k = 0; k < tuple.size(); ++k)
        pieces[k] = side.reshaped(pieces[k], lifter_.collapsed_names(tuple[k], k, places),
                                  lifter_.names(tuple[k], k, places));
      return pieces;
    }

    /// Tensors that have the dimensions of the join.
    Operand operand(const Tuple& tuple, const JoinPlaces& places) {
      if (lifter_.is_lifted(tuple, places.form)) {
        const auto [known, is_new] = wholes_.try_emplace(tuple, fmt::format("w{}", wholes_.size()));
        if (is_new) declare(known->second, tuple[0], lifter_.whole_names(tuple, places));
        return {pieces_of(source, known->second, tuple, places), known->second};
      }
      Names leaves, flat;
      for (std::size_t k = 0; k < tuple.size(); ++k) {
        const Names own = lifter_.names(tuple[k], k, places);
        leaves.push_back(leaf(tuple[k], own));
        flat.push_back(
            target.reshaped(leaves.back(), own, lifter_.collapsed_names(tuple[k], k, places)));
      }
      return {leaves, target.joined(flat, places.form.before)};
    }

    std::string rule(const std::string& op, const Names& from, const Names& to) const {
      return rule_text(fmt::format("{}{}", kUnevenPrefix, op), head_, source, from, target, to);
    }

    SideText source, target;

   private:
    const Lifter& lifter_;
    std::string head_;
    std::map<TensorId, std::string> leaves_;
    std::map<Tuple, std::string> wholes_;
  };

  const Node& producer(TensorId id) const { return graph_.node(graph_.tensor(id).producer); }
  bool is_lifted(const Tuple& tuple, const JoinForm& form) const {
    const auto known = lifted_.find({tuple, form});
    return known != lifted_.end() && known->second;
  }

  /// True: the tensors are pieces of one, once the steps so far are taken.
  bool lift(const Tuple& tuple, const JoinForm& form) {
    const auto [known, is_new] = lifted_.emplace(std::pair(tuple, form), false);
    if (!is_new) return known->second;
    const bool is_lifted = are_siblings(tuple) && are_alike(tuple, form) &&
                           steps_.size() < kMostLevels && lift_siblings(tuple, form);
    return lifted_[{tuple, form}] = is_lifted;
  }

  /// The same result of different nodes with one operator of which none needs another.
  bool are_siblings(const Tuple& tuple) const {
    std::set<NodeId> nodes;
    std::optional<std::size_t> place;
    for (const TensorId id : tuple) {
      const NodeId its = graph_.tensor(id).producer;
      if (!its.valid() || graph_.is_constant_expression(id) || !nodes.insert(its).second)
        return false;
      const Node& node = graph_.node(its);
      const auto at =
          static_cast<std::size_t>(std::ranges::find(node.outputs, id) - node.outputs.begin());
      const Node& first = producer(tuple[0]);
      if (!has_known_sizes(graph_, node) || !std::ranges::all_of(node.inputs, &TensorId::valid) ||
          node.op != first.op || node.inputs.size() != first.inputs.size() ||
          node.outputs.size() != first.outputs.size() || place.value_or(at) != at)
        return false;
      place = at;
    }
    return independence_.holds(nodes);
  }

  bool lift_siblings(const Tuple& tuple, const JoinForm& form) {
    const Node& node = producer(tuple[0]);
    switch (node.op->movement) {
    case Movement::kReshape:
      return lift_reshapes(tuple, form);
    case Movement::kSplit:
    case Movement::kCut:
    case Movement::kJoin:
      return lift_along(tuple, form);
    case Movement::kNone:
      break;
    default:
      return false;
    }
    const auto* const op = ops::definition_of(node);
    return op->op_class == ops::OpClass::kElementwise && lift_elementwise(tuple, form);
  }

  Tuple operands(const Tuple& tuple, std::size_t k) const {
    Tuple all;
    for (const TensorId id : tuple) all.push_back(producer(id).inputs[k]);
    return all;
  }
  bool have_equal_attributes(const Tuple& tuple) const {
    return std::ranges::all_of(tuple, [&](TensorId id) {
      return producer(id).attributes == producer(tuple[0]).attributes;
    });
  }

  void add_step(std::vector<TensorId> results, std::string text) {
    steps_.push_back({.results = std::move(results),
                      .texts = {std::move(text)},
                      .description = kUnevenDescription});
  }
  /// The step from `from`, what each node computes, to pieces of `whole`, by result of the nodes.
  void add_level(Text& text, const Tuple& tuple, const JoinPlaces& places,
                 const std::vector<Names>& from, const Names& whole) {
    const Node& first = producer(tuple[0]);
    std::vector<Names> pieces;  // by result
    for (std::size_t r = 0; r < first.outputs.size(); ++r) {
      Tuple all;
      for (const TensorId id : tuple) all.push_back(producer(id).outputs[r]);
      pieces.push_back(text.pieces_of(text.target, whole[r], all, places));
      lifted_[{all, places.form}] = true;
    }
    std::vector<TensorId> results;  // in the order in which the source computes them
    Names before, after;
    for (std::size_t k = 0; k < tuple.size(); ++k) {
      for (std::size_t r = 0; r < first.outputs.size(); ++r) {
        results.push_back(producer(tuple[k]).outputs[r]);
        before.push_back(from[k][r]);
        after.push_back(pieces[r][k]);
      }
    }
    add_step(std::move(results), text.rule(first.op->name, before, after));
  }

  /// The operand's dimensions in front of, and behind, those of the join hold as many elements as
  /// those of the result.
  std::optional<JoinForm> form_before(TensorId from, TensorId to, const JoinForm& form) const {
    const Sizes sizes = sizes_of(from), result = sizes_of(to);
    const auto fits = [&](std::span<const std::int64_t> own, std::span<const std::int64_t> its) {
      return product(own) == product(its);
    };
    const std::span<const std::int64_t> all(sizes), of_result(result);
    for (std::size_t before = std::min(form.before, sizes.size()) + 1; before-- > 0;) {
      if (!fits(all.first(before), of_result.first(form.before))) continue;
      for (std::size_t end = before + 1; end <= sizes.size(); ++end) {
        const auto behind = of_result.subspan(form.before + form.count);
        if (!fits(all.subspan(end), behind)) continue;
        return JoinForm{before, end - before};
      }
    }
    return std::nullopt;
  }

  bool lift_reshapes(const Tuple& tuple, const JoinForm& form) {
    const Tuple from = operands(tuple, 0);
    const auto own = form_before(from[0], tuple[0], form);
    if (!own || !are_alike(from, *own)) return false;
    for (std::size_t k = 0; k < tuple.size(); ++k)
      if (length(from[k], *own) != length(tuple[k], form)) return false;
    if (!lift(from, *own)) return false;
    JoinPlaces before = places_of(from, *own), after = places_of(tuple, form);
    for (std::size_t k = 0; k < tuple.size(); ++k) {
      if (form.count == 1)
        after.sizes[k] = {before.length(k)};
      else if (own->count == 1)
        before.sizes[k] = {after.length(k)};
      else  // as they are
        for (auto* const places : {&before, &after})
          for (std::size_t d = 0; d < places->form.count; ++d)
            places->sizes[k][d] = std::to_string(
                sizes_of((places == &before ? from : tuple)[k])[places->form.before + d]);
    }
    Text text(*this);
    const Operand operand = text.operand(from, before);
    std::vector<Names> computed;
    for (std::size_t k = 0; k < tuple.size(); ++k)
      computed.push_back({text.source.line(
          call_of(graph_, producer(tuple[k]), {operand.pieces[k]}, names(tuple[k], k, after)))});
    const std::string whole =
        text.target.reshaped(operand.whole, whole_names(from, before), whole_names(tuple, after));
    add_level(text, tuple, after, computed, {whole});
    return true;
  }

  /// The axis of the whole. None: it is one of the join.
  static std::optional<std::size_t> axis_of_whole(std::size_t axis, const JoinForm& form) {
    if (axis < form.before) return axis;
    if (axis < form.before + form.count) return std::nullopt;
    return axis - form.count + 1;
  }
  /// The call of a split, cut or join of the whole.
  std::optional<std::string> call_of_whole(const Node& node, const Names& operands,
                                           const JoinForm& form) const {
    std::string attributes;
    for (const auto& [name, value] : node.attributes.values()) {
      std::string text = core::to_string(value, graph_.symbols());
      const auto* const axis = node.op->find_role(AttributeRole::kAxis);
      const auto* const axes = node.op->find_role(AttributeRole::kAxes);
      if (axis != nullptr && axis->name == name) {
        const auto its = axis_of_whole(ops::axis_by_role(node), form);
        if (!its) return std::nullopt;
        text = std::to_string(*its);
      } else if (axes != nullptr && axes->name == name) {
        Sizes all;
        for (const std::int64_t one : ops::ints_by_role(node, AttributeRole::kAxes)) {
          const auto its = axis_of_whole(static_cast<std::size_t>(one), form);
          if (!its) return std::nullopt;
          all.push_back(static_cast<std::int64_t>(*its));
        }
        text = fmt::format("[{}]", list_of(all));
      }
      attributes += fmt::format("{}{}={}", attributes.empty() ? "; " : ", ", name, text);
    }
    return fmt::format("{}({}{})", node.op->name, fmt::join(operands, ", "), attributes);
  }

  /// Splits, cuts and joins along other dimensions.
  bool lift_along(const Tuple& tuple, const JoinForm& form) {
    const Node& node = producer(tuple[0]);
    if (!have_equal_attributes(tuple) || !call_of_whole(node, Names(node.inputs.size(), "x"), form))
      return false;
    bool has_lifted = false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Tuple own = operands(tuple, k);
      if (!are_alike(own, form)) return false;
      has_lifted = lift(own, form) || has_lifted;
    }
    if (!has_lifted) return false;
    Text text(*this);
    const JoinPlaces places = places_of(tuple, form);
    std::vector<Operand> all;
    Names wholes;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      all.push_back(text.operand(operands(tuple, k), places));
      wholes.push_back(all.back().whole);
    }
    std::vector<Names> computed;
    for (std::size_t t = 0; t < tuple.size(); ++t) {
      Names own;
      for (const Operand& operand : all) own.push_back(operand.pieces[t]);
      const Node& its = producer(tuple[t]);
      computed.push_back(text.source.lines(call_of(graph_, its, own), its.outputs.size()));
    }
    add_level(text, tuple, places, computed,
              text.target.lines(*call_of_whole(node, wholes, form), node.outputs.size()));
    return true;
  }

  /// One tensor for all, which is the same in each place of the join.
  bool is_shared(const Tuple& own, std::size_t rank, const JoinForm& form) const {
    if (std::ranges::count(own, own[0]) != std::ssize(own)) return false;
    const Sizes sizes = sizes_of(own[0]);
    const std::size_t missing = rank - sizes.size();
    for (std::size_t d = form.before; d < form.before + form.count; ++d)
      if (d >= missing && sizes[d - missing] != 1) return false;
    return true;
  }
  /// Its dimensions of the join, which are 1 or missing, as one.
  std::string shared_whole(Text& text, TensorId id, std::size_t rank, const JoinForm& form) const {
    const Sizes sizes = sizes_of(id);
    const std::string name = text.leaf(id, names_of(sizes));
    const std::size_t behind = rank - form.before - form.count;
    if (sizes.size() <= behind + 1) return name;
    Sizes whole = sizes;
    const std::size_t there = std::min(form.count, sizes.size() - behind);
    const auto end = whole.end() - static_cast<std::ptrdiff_t>(behind);
    whole.erase(end - static_cast<std::ptrdiff_t>(there - 1), end);
    return text.target.reshaped(name, names_of(sizes), names_of(whole));
  }

  /// Constants with a value for each place of the join, or for all of a part of it.
  std::optional<Operand> constants(Text& text, const Tuple& own, const Tuple& tuple,
                                   const JoinPlaces& places) const {
    const auto [before, count] = places.form;
    Operand operand;
    Names parts;
    std::optional<Names> rest;
    for (std::size_t k = 0; k < own.size(); ++k) {
      const Sizes sizes = sizes_of(own[k]);
      const std::size_t rank = sizes_of(tuple[k]).size(), missing = rank - sizes.size();
      Names declared = names_of(sizes);
      for (std::size_t d = before; d < before + count; ++d)
        if (d >= missing && sizes[d - missing] != 1)
          declared[d - missing] = places.sizes[k][d - before];
      const std::string name = text.leaf(own[k], declared);
      operand.pieces.push_back(name);
      Names aligned = declared;
      aligned.insert(aligned.begin(), missing, "1");
      std::string part = text.target.reshaped(name, declared, aligned);
      Names full = aligned;
      std::ranges::copy(places.sizes[k], full.begin() + static_cast<std::ptrdiff_t>(before));
      if (full != aligned) part = text.target.expanded(part, full);
      Names flat = full;
      const auto at = flat.begin() + static_cast<std::ptrdiff_t>(before);
      flat.erase(at, at + static_cast<std::ptrdiff_t>(count));
      if (rest.value_or(flat) != flat) return std::nullopt;
      rest = flat;
      flat.insert(flat.begin() + static_cast<std::ptrdiff_t>(before), places.length(k));
      parts.push_back(text.target.reshaped(part, full, flat));
    }
    operand.whole = text.target.joined(parts, before);
    return operand;
  }

  bool lift_elementwise(const Tuple& tuple, const JoinForm& form) {
    const Node& node = producer(tuple[0]);
    if (!have_equal_attributes(tuple) || node.outputs.size() != 1) return false;
    const std::size_t rank = sizes_of(tuple[0]).size();
    const auto is_constant = [&](TensorId id) { return graph_.is_constant_expression(id); };
    std::vector<Tuple> own;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      own.push_back(operands(tuple, k));
      if (is_shared(own[k], rank, form) || std::ranges::all_of(own[k], is_constant)) continue;
      for (std::size_t t = 0; t < tuple.size(); ++t)
        if (sizes_of(own[k][t]).size() != rank || length(own[k][t], form) != length(tuple[t], form))
          return false;
      if (!are_alike(own[k], form)) return false;
      lift(own[k], form);
    }
    Text text(*this);
    const JoinPlaces places = places_of(tuple, form);
    std::vector<Operand> all;
    Names wholes;
    for (const Tuple& one : own) {
      if (is_shared(one, rank, form)) {
        const std::string whole = shared_whole(text, one[0], rank, form);
        all.push_back({Names(tuple.size(), text.leaf(one[0], names_of(sizes_of(one[0])))), whole});
      } else if (std::ranges::all_of(one, is_constant)) {
        auto operand = constants(text, one, tuple, places);
        if (!operand) return false;
        all.push_back(*std::move(operand));
      } else {
        all.push_back(text.operand(one, places));
      }
      wholes.push_back(all.back().whole);
    }
    std::vector<Names> computed;
    for (std::size_t t = 0; t < tuple.size(); ++t) {
      Names operands;
      for (const Operand& operand : all) operands.push_back(operand.pieces[t]);
      computed.push_back({text.source.line(call_of(graph_, producer(tuple[t]), operands))});
    }
    add_level(text, tuple, places, computed, {text.target.line(call_of(graph_, node, wholes))});
    has_functions_ = true;
    return true;
  }

  const Graph& graph_;
  const Independence& independence_;
  std::vector<RewriteStep> steps_;
  std::map<std::pair<Tuple, JoinForm>, bool> lifted_;
  bool has_functions_ = false;  ///< Besides what merely moves.
};

}  // namespace

std::vector<RewriteSequence> find_uneven_joins(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  const Independence independence(graph);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->movement != Movement::kJoin || graph.is_constant_expression(id) ||
        node.inputs.size() < 2 || node.inputs.size() > kMostJoined || !has_known_sizes(graph, node))
      continue;
    if (auto plan = Lifter(graph, independence).plan(node)) plans.push_back(*std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::transforms
