// See resized_plan.h.
#include "jobs/run/resized_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "parallel/plans/plan_cuts.h"

namespace soapstone::jobs {
namespace {

using Digit = parallel::Digits::Digit;

Digit digit_of(const ops::LoopPlace& place) { return {place.dim, place.stride, place.period}; }

/// The product of the axes that cut each loop of a node.
std::map<std::string, std::int64_t> parts_of(const parallel::NodeCuts& cuts,
                                             const parallel::PlanDocument& plan) {
  std::map<std::string, std::int64_t> parts;
  for (const auto& [loop, axes] : cuts.loops) {
    std::int64_t& all = parts.emplace(loop, 1).first->second;
    for (const std::string& name : axes)
      for (const parallel::PlanAxis& axis : plan.axes) {
        if (axis.name != name) continue;
        std::int64_t grains = axis.shares.empty() ? axis.size : 0;
        for (const std::int64_t share : axis.shares) grains += share;
        all *= grains;
      }
  }
  return parts;
}

bool is_same_loop(const ops::Loop& a, const ops::Loop& b) {
  const auto is_same_place = [](const ops::LoopPlace& x, const ops::LoopPlace& y) {
    return x.tensor == y.tensor && x.dim == y.dim && (x.period == 0) == (y.period == 0);
  };
  return a.role == b.role && a.joined == b.joined && a.once == b.once &&
         a.selected_by == b.selected_by && a.between.size() == b.between.size() &&
         std::ranges::equal(a.outputs, b.outputs, is_same_place) &&
         std::ranges::equal(a.follows, b.follows, is_same_place);
}

}  // namespace

bool have_same_loops(const ops::PartitionSpace& a, const ops::PartitionSpace& b) {
  return std::ranges::equal(a.loops, b.loops, is_same_loop);
}

bool SizeLimits::ask_for(const PartsOfSizes& more) {
  bool is_new = false;
  for (const auto& [size, wanted] : more) {
    std::int64_t& known = parts.emplace(size, 1).first->second;
    is_new |= known < wanted;
    known = std::max(known, wanted);
  }
  return is_new;
}

bool has_parts_as(std::int64_t size, std::int64_t other, std::int64_t parts) {
  return other % parts == 0 ? size % parts == 0 : size >= parts;
}

PlanResizer::PlanResizer(const core::Graph& graph, const std::vector<bool>& is_weight,
                         const parallel::PlanDocument& plan)
    : graph_(graph), is_weight_(is_weight), plan_(plan),
      loops_(parallel::graph_loops(graph, is_weight)) {}

std::optional<parallel::PlanDocument> PlanResizer::plan_of(const core::Graph& other,
                                                           const std::vector<bool>& is_weight,
                                                           const SizeLimits& limits) const {
  if (!has_same_operators(other, is_weight) || !has_like_sizes(other, limits.are_distinct))
    return std::nullopt;
  const parallel::GraphLoops loops = parallel::graph_loops(other, is_weight);
  if (!can_be_cut(loops, limits)) return std::nullopt;
  parallel::PlanDocument plan = plan_;
  plan.model_hash = other.hash();
  if (!resize_weights(other, loops, plan)) return std::nullopt;
  return plan;
}

bool PlanResizer::has_same_operators(const core::Graph& other,
                                     const std::vector<bool>& is_weight) const {
  if (other.tensor_bound() != graph_.tensor_bound() || is_weight != is_weight_ ||
      !std::ranges::equal(other.order(), graph_.order()) ||
      !std::ranges::equal(other.inputs(), graph_.inputs()) ||
      !std::ranges::equal(other.outputs(), graph_.outputs()))
    return false;
  return std::ranges::all_of(graph_.order(), [&](core::NodeId id) {
    const core::Node &own = graph_.node(id), &its = other.node(id);
    return own.op == its.op && own.inputs == its.inputs && own.outputs == its.outputs &&
           own.name == its.name &&
           graph_.is_constant_expression(id) == other.is_constant_expression(id);
  });
}

/// Whether sizes of 1 are at the same places, and different sizes differ if they have to.
bool PlanResizer::has_like_sizes(const core::Graph& other, bool are_distinct) const {
  std::map<std::int64_t, std::int64_t> own_sizes;  // by the size in the other graph
  for (std::size_t t = 0; t < graph_.tensor_bound(); ++t) {
    const core::TensorId id(t);
    if (graph_.contains(id) != other.contains(id)) return false;
    if (!graph_.contains(id)) continue;
    const core::Tensor &own = graph_.tensor(id), &its = other.tensor(id);
    if (own.type.data_type != its.type.data_type || own.name != its.name) return false;
    const auto dims = core::concrete(own.type.shape), other_dims = core::concrete(its.type.shape);
    if (!dims || !other_dims || dims->size() != other_dims->size()) return false;
    for (std::size_t d = 0; d < dims->size(); ++d) {
      if (((*dims)[d] == 1) != ((*other_dims)[d] == 1)) return false;
      const std::int64_t known = own_sizes.emplace((*other_dims)[d], (*dims)[d]).first->second;
      if (are_distinct && known != (*dims)[d]) return false;
    }
  }
  return true;
}

bool PlanResizer::can_be_cut(const parallel::GraphLoops& loops, const SizeLimits& limits) const {
  std::size_t at = 0;
  for (const core::NodeId id : graph_.order()) {
    if (graph_.is_constant_expression(id)) continue;
    const parallel::PlannedNode& node = plan_.nodes[at++];
    const auto &own = loops_.spaces[id.index()].loops, &its = loops.spaces[id.index()].loops;
    if (!have_same_loops(loops_.spaces[id.index()], loops.spaces[id.index()])) return false;
    if (loops.origins[id.index()] != loops_.origins[id.index()]) return false;
    const std::vector<std::string> names = parallel::loop_names(loops_.spaces[id.index()]);
    const auto parts_of_loops = parts_of(plan_.cuts[node.cuts], plan_);
    for (std::size_t l = 0; l < own.size(); ++l) {
      const bool is_batch = loops_.origins[id.index()][l] == parallel::Origin::kBatch;
      const auto cut = parts_of_loops.find(names[l]);
      const std::int64_t all = (cut == parts_of_loops.end() ? 1 : cut->second) *
                               (is_batch ? plan_.shape.microbatches : 1);
      if (!has_parts_as(its[l].size, own[l].size, all)) return false;
      const auto asked = limits.parts.find(own[l].size);
      if (asked != limits.parts.end() && !has_parts_as(its[l].size, own[l].size, asked->second))
        return false;
    }
  }
  return true;
}

/// Digits have other strides and periods: those of the loop that runs over them.
bool PlanResizer::resize_weights(const core::Graph& other, const parallel::GraphLoops& loops,
                                 parallel::PlanDocument& plan) const {
  std::map<std::string, core::TensorId> weights;
  for (std::size_t t = 0; t < is_weight_.size(); ++t)
    if (is_weight_[t])
      weights.emplace(parallel::weight_name(graph_, core::TensorId(t)), core::TensorId(t));
  const auto other_digit = [&](core::TensorId weight, const Digit& digit) -> std::optional<Digit> {
    for (const core::NodeId reader : graph_.consumers(weight)) {
      const auto &own = loops_.spaces[reader.index()].loops,
                 &its = loops.spaces[reader.index()].loops;
      for (std::size_t l = 0; l < own.size(); ++l)
        for (std::size_t k = 0; k < own[l].follows.size(); ++k) {
          const ops::LoopPlace& place = own[l].follows[k];
          if (other.node(reader).inputs[place.tensor] == weight && digit_of(place) == digit)
            return digit_of(its[l].follows[k]);
        }
    }
    return std::nullopt;
  };
  for (parallel::PlannedWeight& weight : plan.weights) {
    std::map<std::string, std::vector<std::string>> dims;
    for (auto& [name, axes] : weight.dims) {
      std::optional<Digit> digit = parallel::parse_digit_name(name);
      if (digit && digit->period != 0) digit = other_digit(weights.at(weight.name), *digit);
      if (!digit) return false;
      dims[parallel::digit_name(*digit)] = std::move(axes);
    }
    weight.dims = std::move(dims);
  }
  return true;
}

}  // namespace soapstone::jobs
