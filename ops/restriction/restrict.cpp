// Tries candidates, from the operator on exactly what the part reads to the operator on a larger
// piece and a slice of its result. Of the first that is seen to compute the part a graph is made.
#include "ops/restriction/restrict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ops/restriction/part_candidates.h"
#include "ops/restriction/part_graph.h"
#include "ops/restriction/selection.h"

namespace soapstone::ops {
namespace {

using core::Attributes;
using core::TensorId;
using core::TensorType;
using partition::Candidate;
using partition::PartCandidates;
using partition::PartGraph;

class Restriction {
 public:
  Restriction(const core::Graph& graph, core::NodeId id, const PartitionSpace& space,
              const PartBox& box)
      : graph_(graph), id_(id), node_(graph.node(id)), space_(space), box_(box),
        candidates_(graph, id, space, box) {}

  core::Result<Part> run() {
    for (std::size_t l = 0; l < box_.size(); ++l)
      if (candidates_.is_cut(l) && !space_.loops[l].between.empty())
        return core::unsupported(fmt::format(
            "{}: parts of a loop of {} must join {} stages in between; that takes several graphs",
            node_.op->name, space_.loops[l].size, space_.loops[l].between.size()));
    if (candidates_.is_independent_of_inputs() ||
        definition_of(node_)->op_class == OpClass::kView) {
      if (auto candidate = candidates_.exact()) return built(*candidate);
      return sliced_whole();
    }
    if (auto candidate = candidates_.exact()) return built(*candidate);
    if (auto candidate = candidates_.larger()) return built(*candidate);
    for (std::size_t l = 0; l < box_.size(); ++l)
      if (candidates_.is_cut(l) && space_.loops[l].selected_by)
        if (auto part = selecting(l)) return *std::move(part);
    return core::unsupported(
        fmt::format("{}: no form of the operator computes this part from its pieces of the inputs",
                    node_.op->name));
  }

 private:
  /// Of a part's graph: which inputs of the node it has, and what it reads of them.
  struct Reads {
    std::vector<std::size_t> inputs;
    PartRegions regions;
  };

  core::Result<Part> built(const Candidate& candidate) const {
    PartGraph graph;
    std::vector<std::size_t> inputs;
    std::vector<TensorId> operands;
    const auto kept = candidates_.kept();
    for (std::size_t j = 0; j < kept.size(); ++j) {
      const std::size_t k = kept[j];
      if (!node_.inputs[k].valid()) {
        operands.push_back(TensorId::none());
      } else if (candidates_.regions().inputs[k].is_empty()) {
        operands.push_back(
            graph.zeros(candidate.inputs[j].data_type, *core::concrete(candidate.inputs[j].shape)));
      } else {
        operands.push_back(
            graph.input(candidate.inputs[j], *core::concrete(candidate.inputs[j].shape)));
        inputs.push_back(k);
      }
    }
    std::vector<TensorId> results = graph.builder().add_node(
        *node_.op, candidate.attributes, std::move(operands), candidate.outputs);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const core::Dims dims = *core::concrete(candidate.outputs[k].shape);
      const core::Dims extents = candidates_.regions().outputs[k].extents();
      std::vector<Interval> piece;
      for (std::size_t d = 0; d < dims.size(); ++d)
        piece.push_back({candidate.begins[k][d], candidate.begins[k][d] + extents[d]});
      results[k] = graph.take(results[k], DigitRegion::box(dims, piece));
      results[k] =
          graph.scaled(results[k], candidate.result.factors[k], candidate.result.shifts[k]);
    }
    return finished(std::move(graph), std::move(results),
                    {std::move(inputs), candidates_.regions()});
  }

  /// The operator on its rows alone, indices shifted. Rows of other parts count as 0: in the
  /// result, if each of its elements has an index of its own, else by a row of zeros that they are
  /// sent to.
  std::optional<Part> selecting(std::size_t l) const {
    const Loop& loop = space_.loops[l];
    PartBox all_rows = box_;
    all_rows[l] = {0, loop.size};
    const auto selection = partition::selection_of(*space_.digits, loop.variables);
    const auto candidate = PartCandidates(graph_, id_, space_, all_rows).exact();
    const bool reads_all = std::ranges::none_of(candidates_.regions().inputs,
                                                [](const DigitRegion& r) { return r.is_empty(); });
    if (!selection || !candidate || !reads_all) return std::nullopt;
    PartGraph graph;
    std::vector<std::size_t> inputs;
    std::vector<TensorId> operands;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      const TensorType& type = graph_.tensor(node_.inputs[k]).type;
      operands.push_back(graph.input(type, candidates_.regions().inputs[k].extents()));
      inputs.push_back(k);
    }
    const auto rows = partition::shifted_rows(graph, *space_.digits, *selection,
                                              operands[selection->input], box_[l], ignored());
    const bool masks = selection->result_dims.has_value();
    const std::int64_t elsewhere = masks ? 0 : box_[l].high - box_[l].low;
    if (!masks)
      for (const LoopPlace& place : loop.follows)
        operands[place.tensor] = graph.with_zeros_behind(operands[place.tensor], place.dim);
    const core::DataType index_type = graph.type(rows.row).data_type;
    operands[selection->input] =
        graph.append("where", {rows.is_inside, rows.row, graph.scalar(index_type, elsewhere)});
    const Attributes attributes = without_labels(candidate->attributes);
    auto results = ops::append(graph.builder(), node_.op->name, operands, attributes);
    if (!results || results->size() != candidate->outputs.size()) return std::nullopt;
    if (masks) (*results)[0] = graph.masked((*results)[0], rows.is_inside, *selection->result_dims);
    for (std::size_t k = 0; k < results->size(); ++k) {
      if (graph.type((*results)[k]) != candidate->outputs[k]) return std::nullopt;
      (*results)[k] =
          graph.scaled((*results)[k], candidate->result.factors[k], candidate->result.shifts[k]);
    }
    auto part =
        finished(std::move(graph), *std::move(results), {std::move(inputs), candidates_.regions()});
    return part ? std::optional(*std::move(part)) : std::nullopt;
  }

  /// Indices that the operator ignores: parts ignore them by themselves, as theirs are shifted.
  std::vector<std::int64_t> ignored() const {
    const auto* schema = node_.op->find_role(core::AttributeRole::kLabels);
    return schema ? node_.attributes.get_ints(schema->name) : std::vector<std::int64_t>();
  }

  Attributes without_labels(Attributes attributes) const {
    if (const auto* schema = node_.op->find_role(core::AttributeRole::kLabels))
      attributes.set(schema->name, std::vector<Polynomial>());
    return attributes;
  }

  core::Result<Part> finished(PartGraph graph, std::vector<TensorId> results, Reads reads) const {
    graph.builder().set_outputs(std::move(results));
    auto made = std::move(graph.builder()).finish();
    if (!made) return made.error();
    return Part{*std::move(made), std::move(reads.inputs), std::move(reads.regions)};
  }

  /// The whole operator, which costs nothing, and the part's piece of its results.
  core::Result<Part> sliced_whole() const {
    PartRegions regions = candidates_.regions();
    PartGraph graph;
    std::vector<std::size_t> inputs;
    std::vector<TensorId> operands;
    std::vector<TensorType> outputs;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      if (!node_.inputs[k].valid()) {
        operands.push_back(TensorId::none());
        continue;
      }
      const TensorType& type = graph_.tensor(node_.inputs[k]).type;
      const core::Dims dims = *core::concrete(type.shape);
      if (candidates_.given()[k].is_empty()) {
        operands.push_back(graph.zeros(type.data_type, dims));
        continue;
      }
      regions.inputs[k] = DigitRegion::whole(dims);
      operands.push_back(graph.input(type, dims));
      inputs.push_back(k);
    }
    for (TensorId id : node_.outputs) outputs.push_back(graph_.tensor(id).type);
    std::vector<TensorId> results =
        graph.builder().add_node(*node_.op, node_.attributes, std::move(operands), outputs);
    for (std::size_t k = 0; k < results.size(); ++k)
      results[k] = graph.take(results[k], regions.outputs[k]);
    return finished(std::move(graph), std::move(results), {std::move(inputs), std::move(regions)});
  }

  const core::Graph& graph_;
  const core::NodeId id_;
  const core::Node& node_;
  const PartitionSpace& space_;
  const PartBox& box_;
  PartCandidates candidates_;
};

}  // namespace

core::Result<Part> restrict_to(const core::Graph& graph, core::NodeId node,
                               const PartitionSpace& space, const PartBox& box) {
  CHECK(space.digits, "the node cannot be analyzed");
  return Restriction(graph, node, space, box).run();
}

}  // namespace soapstone::ops
