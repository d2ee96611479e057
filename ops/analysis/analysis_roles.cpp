// Partition roles (FlexFlow's SOAP): how each output dimension reaches into the inputs, followed
// symbolically through the stages.
#include <algorithm>
#include <array>

#include "ops/analysis/analysis_intervals.h"
#include "ops/analysis/analysis_reductions.h"
#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

using analysis::Digits;
using analysis::interval_of;
using analysis::Ranges;

/// How one dimension of a tensor is indexed by one output dimension.
enum class Link : std::uint8_t {
  kUnread,  ///< No read seen yet.
  kNone,    ///< Not at all.
  kSame,    ///< By it alone, element for element.
  kNear,    ///< By it and its neighbors: a window, a stride, an offset, part of a flat position.
  kWhole,   ///< By it in one read, while another read needs other elements.
};

/// The link of a dimension that is read in two ways.
Link joined(Link a, Link b) {
  if (a == Link::kUnread) return b;
  if (b == Link::kUnread || a == b) return a;
  const auto moves = [](Link l) { return l == Link::kSame || l == Link::kNear; };
  return moves(a) && moves(b) ? Link::kNear : Link::kWhole;
}

class RoleWalk {
 public:
  RoleWalk(const Semantics& semantics, std::vector<core::Dims> dims)
      : semantics_(semantics), dims_(std::move(dims)) {
    const std::uint32_t out = semantics.outputs[0];
    rank_ = dims_[out].size();
    links_.resize(dims_.size());
    for (std::size_t t = 0; t < dims_.size(); ++t)
      links_[t].assign(dims_[t].size(), std::vector<Link>(rank_, Link::kUnread));
    for (std::size_t d = 0; d < rank_; ++d)
      for (std::size_t r = 0; r < rank_; ++r)
        links_[out][d][r] = d == r ? Link::kSame : Link::kNone;
    is_reached_.resize(dims_.size(), false);
    is_reached_[out] = true;
    for (std::uint32_t t = out + 1; t-- > semantics.input_count;)
      if (is_reached_[t]) through(t);
  }

  Link link(std::size_t tensor, std::size_t dim, std::size_t output_dim) const {
    return links_[tensor][dim][output_dim];
  }
  const core::Dims& dims(std::size_t tensor) const { return dims_[tensor]; }
  std::size_t rank() const { return rank_; }

 private:
  void through(std::uint32_t tensor) {
    const Stage& stage = semantics_.stages[tensor - semantics_.input_count];
    Ranges ranges;
    for (std::size_t d = 0; d < stage.index.size(); ++d) {
      if (dims_[tensor][d] <= 0) return;
      ranges[stage.index[d]] = {0, dims_[tensor][d]};
    }
    visit(*stage.body, stage, tensor, ranges);
  }

  void visit(const ExprNode& e, const Stage& stage, std::uint32_t tensor, const Ranges& ranges) {
    if (e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat)
      return visit_read(e, stage, tensor, ranges);
    for (const Alternative& a : e.alternatives)
      visit(*a.body, stage, tensor, with(a.binders, ranges));
    const Ranges inner = with(e.binders, ranges);
    for (const Expr& argument : e.arguments) visit(*argument, stage, tensor, inner);
  }

  static Ranges with(const std::vector<Binder>& binders, Ranges ranges) {
    for (const Binder& b : binders) {
      const std::int64_t low = interval_of(b.low, ranges).low;
      ranges[b.variable] = {low, std::max(low + 1, interval_of(b.high, ranges).high - 1)};
    }
    return ranges;
  }

  void visit_read(const ExprNode& e, const Stage& stage, std::uint32_t tensor,
                  const Ranges& ranges) {
    is_reached_[e.tensor] = true;
    std::vector<std::vector<Link>> links(dims_[e.tensor].size(),
                                         std::vector<Link>(rank_, Link::kNone));
    for (const Digits& digits : analysis::digits_of(e, dims_[e.tensor], ranges)) {
      // If several dimensions share a position, the outermost that has a size moves with it.
      std::size_t d = digits.first;
      while (d < digits.last && dims_[e.tensor][d] == 1) ++d;
      const bool has_one = digits.first == digits.last;
      for (std::size_t r = 0; r < rank_; ++r)
        links[d][r] = link_of(digits.position, has_one, dims_[e.tensor][d], stage, tensor, r);
    }
    for (std::size_t d = 0; d < links.size(); ++d)
      for (std::size_t r = 0; r < rank_; ++r)
        links_[e.tensor][d][r] = joined(links_[e.tensor][d][r], links[d][r]);
  }

  /// How a dimension of the given size is indexed by output dimension r.
  Link link_of(const Polynomial& index, bool has_one, std::int64_t size, const Stage& stage,
               std::uint32_t tensor, std::size_t r) const {
    Link found = Link::kNone;
    std::int64_t own = 0, largest = 0;
    for (const auto& term : index.terms()) largest = std::max(largest, std::abs(term.coefficient));
    for (std::size_t d = 0; d < stage.index.size(); ++d) {
      const std::int64_t c = index.coefficient(stage.index[d]);
      const Link link = links_[tensor][d][r];
      if (c == 0 || link == Link::kNone || link == Link::kUnread) continue;
      const bool is_same = link == Link::kSame && has_one && size == dims_[tensor][d] &&
                           index == Polynomial(stage.index[d]);
      found =
          joined(found == Link::kNone ? Link::kUnread : found, link == Link::kWhole ? Link::kWhole
                                                               : is_same            ? Link::kSame
                                                                                    : Link::kNear);
      own = std::max(own, std::abs(c));
    }
    // The minor part of a mixed index: a slice of it touches all of the dimension.
    return found == Link::kNear && own < largest ? Link::kNone : found;
  }

  const Semantics& semantics_;
  std::vector<core::Dims> dims_;
  std::size_t rank_ = 0;
  std::vector<std::vector<std::vector<Link>>> links_;  // tensor, its dimension, output dimension
  std::vector<bool> is_reached_;
};

/// The evidence that the inputs of one kind give on an output dimension.
struct Summary {
  bool any_whole = false, any_moves = false, all_same = true;
};

DimInfo info_of(const RoleWalk& walk, std::size_t output_dim, std::int64_t size,
                const std::vector<core::TensorId>& inputs, const std::vector<bool>& is_weight) {
  DimInfo info{DimRole::kWhole, size, output_dim, {}};
  std::array<Summary, 2> summaries;  // data, weights
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    info.input_dim.emplace_back();
    if (!inputs[k].valid()) continue;
    Summary& summary = summaries[k < is_weight.size() && is_weight[k] ? 1 : 0];
    bool is_same = false;
    for (std::size_t d = 0; d < walk.dims(k).size(); ++d) {
      const Link link = walk.link(k, d, output_dim);
      const bool moves = link == Link::kSame || link == Link::kNear;
      summary.any_whole |= link == Link::kWhole;
      summary.any_moves |= moves;
      is_same |= link == Link::kSame;
      if (moves && !info.input_dim[k]) info.input_dim[k] = d;
    }
    summary.all_same &= is_same;
  }
  const auto& [data, weights] = summaries;
  if (data.any_whole)
    info.role = DimRole::kWhole;
  else if (weights.any_moves)
    info.role = DimRole::kParameter;
  else
    info.role = data.all_same ? DimRole::kSample : DimRole::kAttribute;
  return info;
}

}  // namespace

std::vector<DimInfo> partition_roles(const core::Graph& graph, core::NodeId id,
                                     const std::vector<bool>& is_weight) {
  const core::Node& node = graph.node(id);
  if (is_opaque(node)) return {};
  const Semantics semantics = semantics_of(graph, id);
  const RoleWalk walk(semantics, analysis::tensor_dims(graph, id, semantics));
  const core::Dims& result = walk.dims(semantics.outputs[0]);
  std::vector<DimInfo> infos;
  for (std::size_t d = 0; d < walk.rank(); ++d)
    infos.push_back(info_of(walk, d, result[d], node.inputs, is_weight));
  const auto reductions = analysis::reductions_of(semantics);
  infos.insert(infos.end(), reductions.begin(), reductions.end());
  return infos;
}

}  // namespace soapstone::ops
