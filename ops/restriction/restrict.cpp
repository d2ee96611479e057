// Tries candidates, from the operator on exactly what the part reads to the operator on a larger
// piece and a slice of its result. The first that is seen to compute the part is taken.
#include "ops/restriction/restrict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ops/definition/registry.h"
#include "ops/restriction/open_attributes.h"
#include "ops/restriction/part_comparison.h"
#include "ops/restriction/part_graph.h"
#include "ops/restriction/selection.h"

namespace soapstone::ops {
namespace {

using core::Attributes;
using core::TensorId;
using core::TensorType;
using partition::PartGraph;
using partition::PartProblem;

/// An operator that computes the part, or more than it.
struct Candidate {
  Attributes attributes;
  std::vector<TensorType> inputs, outputs;
  std::vector<core::Dims> begins;  ///< By output: where the part begins in it.
  partition::PartResult result;
};

class Restriction {
 public:
  Restriction(const core::Graph& graph, core::NodeId id, const PartitionSpace& space,
              const PartBox& box)
      : graph_(graph), id_(id), node_(graph.node(id)), definition_(*definition_of(node_)),
        space_(space), box_(box), regions_(part_regions(space, box)),
        given_(regions_with_all_terms()) {}

  core::Result<Part> run() {
    for (std::size_t l = 0; l < box_.size(); ++l)
      if (is_cut(l) && !space_.loops[l].between.empty())
        return core::unsupported(fmt::format(
            "{}: parts of a loop of {} must join {} stages in between; that takes several graphs",
            node_.op->name, space_.loops[l].size, space_.loops[l].between.size()));
    if (is_independent_of_inputs() || definition_.op_class == OpClass::kView) {
      if (auto candidate = exact()) return built(*candidate);
      return sliced_whole();
    }
    if (auto candidate = exact()) return built(*candidate);
    if (auto candidate = larger()) return built(*candidate);
    for (std::size_t l = 0; l < box_.size(); ++l)
      if (is_cut(l) && space_.loops[l].selected_by)
        if (auto part = selecting(l)) return *std::move(part);
    return core::unsupported(
        fmt::format("{}: no form of the operator computes this part from its pieces of the inputs",
                    node_.op->name));
  }

 private:
  bool is_cut(std::size_t loop) const { return box_[loop] != Interval{0, space_.loops[loop].size}; }

  /// Every part of a sum is given the inputs that only the first adds: the others get zeros.
  std::vector<DigitRegion> regions_with_all_terms() const {
    PartBox first = box_;
    for (std::size_t l = 0; l < box_.size(); ++l)
      if (!space_.loops[l].once.empty()) first[l] = {0, box_[l].high - box_[l].low};
    std::vector<DigitRegion> given = regions_.inputs;
    const PartRegions all = part_regions(space_, first);
    for (std::size_t k = 0; k < given.size(); ++k)
      if (given[k].is_empty()) given[k] = all.inputs[k];
    return given;
  }

  bool is_independent_of_inputs() const {
    return std::ranges::all_of(given_, [](const DigitRegion& r) { return r.is_empty(); });
  }

  PartProblem problem() const {
    PartProblem problem{*space_.digits, {}, given_, kept(), {}};
    for (std::size_t l = 0; l < box_.size(); ++l)
      if (is_cut(l))
        for (Symbol symbol : space_.loops[l].variables) problem.cut[symbol] = box_[l];
    for (const DigitRegion& output : regions_.outputs)
      problem.begins.emplace_back(output.extents().size(), Polynomial(0));
    return problem;
  }

  /// A join of any number of operands does without those that it does not read.
  std::vector<std::size_t> kept() const {
    std::vector<std::size_t> kept;
    const bool drops = node_.op->max_inputs == core::OpSchema::kAnyNumber;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k)
      if (!drops || !given_[k].is_empty()) kept.push_back(k);
    return kept;
  }

  std::vector<TensorType> input_types() const {
    std::vector<TensorType> types;
    for (std::size_t k : kept()) {
      const TensorId id = node_.inputs[k];
      if (!id.valid())
        types.push_back({{}, {}, false});
      else
        types.push_back({graph_.tensor(id).type.data_type, core::to_shape(given_[k].extents())});
    }
    return types;
  }

  std::vector<core::Dims> output_extents() const {
    std::vector<core::Dims> extents;
    for (const DigitRegion& output : regions_.outputs) extents.push_back(output.extents());
    return extents;
  }

  std::vector<TensorType> output_types() const {
    std::vector<TensorType> types;
    for (std::size_t k = 0; k < node_.outputs.size(); ++k)
      types.push_back({graph_.tensor(node_.outputs[k]).type.data_type,
                       core::to_shape(regions_.outputs[k].extents())});
    return types;
  }

  std::optional<std::vector<TensorType>> inferred(const Attributes& attributes,
                                                  const std::vector<TensorType>& inputs) const {
    auto types = infer_types(*node_.op, attributes, inputs);
    return types ? std::optional(*std::move(types)) : std::nullopt;
  }

  Semantics meaning(const Attributes& attributes, const std::vector<TensorType>& inputs,
                    const std::vector<TensorType>& outputs) const {
    return definition_.semantics(OpInstance{attributes, inputs, outputs});
  }

  // --- The operator on exactly what is read ------------------------------------------------------

  std::optional<Candidate> exact() const {
    for (const Attributes& attributes : partition::scaled_attributes(node_, cuts()))
      if (auto candidate = exact(attributes)) return candidate;
    return std::nullopt;
  }

  std::vector<partition::CutSize> cuts() const {
    std::vector<partition::CutSize> cuts;
    for (std::size_t l = 0; l < box_.size(); ++l)
      if (is_cut(l)) cuts.push_back({space_.loops[l].size, box_[l].high - box_[l].low});
    return cuts;
  }

  partition::PartShapes shapes() const {
    partition::PartShapes shapes{{}, output_extents(), cuts()};
    for (std::size_t k = 0; k < node_.inputs.size(); ++k)
      shapes.inputs.push_back(node_.inputs[k].valid() ? std::optional(given_[k].extents())
                                                      : std::nullopt);
    return shapes;
  }

  std::optional<Candidate> exact(const Attributes& scaled) const {
    const auto inputs = input_types();
    const auto outputs = output_types();
    const Attributes open = partition::open_attributes(node_, scaled, shapes());
    const PartProblem problem = this->problem();
    const auto solution = partition::solution_of(problem, meaning(open, inputs, outputs));
    const Attributes begun = partition::with_begins(open, solution, partition::begins_of(node_));
    const auto infer = [&](const Attributes& attributes) -> std::optional<core::Dims> {
      const auto types = inferred(attributes, inputs);
      return types ? core::concrete((*types)[0].shape) : std::nullopt;
    };
    for (Attributes& attributes :
         partition::with_ends(node_, begun, regions_.outputs[0].extents(), infer)) {
      if (inferred(attributes, inputs) != outputs) continue;
      auto result = partition::compare(problem, meaning(attributes, inputs, outputs), solution);
      if (!result) continue;
      Candidate candidate{std::move(attributes), inputs, outputs, {}, *std::move(result)};
      for (const core::Dims& dims : output_extents()) candidate.begins.emplace_back(dims.size());
      return candidate;
    }
    return std::nullopt;
  }

  // --- The operator on more than that ------------------------------------------------------------

  /// A dimension of an input of which a part reads a piece that is not tied to a loop element for
  /// element: a halo may be larger.
  struct Halo {
    std::size_t input, dim;
    Interval values;
  };

  std::vector<Halo> halos() const {
    std::vector<Halo> halos;
    for (std::size_t k = 0; k < given_.size(); ++k)
      for (std::size_t d = 0; d < given_[k].dims().size(); ++d) {
        const auto& digits = given_[k].dims()[d];
        if (digits.size() == 1 && digits[0].values != Interval{0, digits[0].radix} &&
            !given_[k].is_empty() && !is_tied(k, d))
          halos.push_back({k, d, digits[0].values});
      }
    return halos;
  }

  bool is_tied(std::size_t input, std::size_t dim) const {
    for (std::size_t l = 0; l < box_.size(); ++l)
      for (const LoopPlace& place : space_.loops[l].follows)
        if (is_cut(l) && place.tensor == input && place.dim == dim && place.divisor == 1 &&
            place.window == Interval{0, place.stride})
          return true;
    return false;
  }

  std::optional<Candidate> larger() {
    constexpr std::int64_t kMost = 4;  // elements more than are read, at both ends together
    const std::vector<DigitRegion> read = given_;
    const std::vector<Halo> halos = this->halos();
    for (std::int64_t more = 0; more <= (halos.empty() ? 0 : kMost); ++more)
      for (std::int64_t before = 0; before <= more; ++before) {
        given_ = read;
        for (const Halo& halo : halos) enlarge(halo, before, more - before);
        auto candidate = more > 0 ? exact() : std::nullopt;
        if (!candidate) candidate = overhanging();
        if (candidate) {
          for (const Halo& halo : halos) regions_.inputs[halo.input] = given_[halo.input];
          return candidate;
        }
      }
    given_ = read;
    return std::nullopt;
  }

  void enlarge(const Halo& halo, std::int64_t before, std::int64_t behind) {
    auto dims = given_[halo.input].dims();
    DigitInterval& digit = dims[halo.dim][0];
    digit.values = {std::max<std::int64_t>(halo.values.low - before, 0),
                    std::min(halo.values.high + behind, digit.radix)};
    given_[halo.input] = DigitRegion(std::move(dims));
  }

  /// The operator as it is; its result holds the part, beginning where equations tell.
  std::optional<Candidate> overhanging() const {
    const auto inputs = input_types();
    const auto outputs = inferred(node_.attributes, inputs);
    if (!outputs) return std::nullopt;
    PartProblem problem = this->problem();
    std::uint32_t next = 1U << 25;
    for (std::size_t k = 0; k < outputs->size(); ++k) {
      const auto dims = core::concrete((*outputs)[k].shape);
      const core::Dims wanted = regions_.outputs[k].extents();
      if (!dims || dims->size() != wanted.size()) return std::nullopt;
      for (std::size_t d = 0; d < wanted.size(); ++d) {
        if ((*dims)[d] < wanted[d]) return std::nullopt;
        if ((*dims)[d] > wanted[d]) problem.begins[k][d] = Polynomial(partition::unknown(next++));
      }
    }
    const Semantics part = meaning(node_.attributes, inputs, *outputs);
    const auto solution = partition::solution_of(problem, part);
    Candidate candidate{node_.attributes, inputs, *outputs, {}, {}};
    for (std::size_t k = 0; k < outputs->size(); ++k) {
      const core::Dims extents = regions_.outputs[k].extents();
      candidate.begins.emplace_back();
      for (std::size_t d = 0; d < extents.size(); ++d) {
        Polynomial& begin = problem.begins[k][d];
        begin = partition::with_solution(begin, solution);
        if (!begin.is_constant()) begin = 0;
        const std::int64_t size = (*outputs)[k].shape[d].constant();
        if (begin.constant() < 0 || begin.constant() + extents[d] > size) return std::nullopt;
        candidate.begins.back().push_back(begin.constant());
      }
    }
    auto result = partition::compare(problem, part, solution);
    if (!result) return std::nullopt;
    candidate.result = *std::move(result);
    return candidate;
  }

  // --- Graphs ------------------------------------------------------------------------------------

  core::Result<Part> built(const Candidate& candidate) const {
    PartGraph graph;
    std::vector<std::size_t> inputs;
    std::vector<TensorId> operands;
    const auto kept = this->kept();
    for (std::size_t j = 0; j < kept.size(); ++j) {
      const std::size_t k = kept[j];
      if (!node_.inputs[k].valid()) {
        operands.push_back(TensorId::none());
      } else if (regions_.inputs[k].is_empty()) {
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
      const core::Dims extents = regions_.outputs[k].extents();
      std::vector<Interval> piece;
      for (std::size_t d = 0; d < dims.size(); ++d)
        piece.push_back({candidate.begins[k][d], candidate.begins[k][d] + extents[d]});
      results[k] = graph.take(results[k], DigitRegion::box(dims, piece));
      results[k] =
          graph.scaled(results[k], candidate.result.factors[k], candidate.result.shifts[k]);
    }
    return finished(std::move(graph), std::move(results), std::move(inputs));
  }

  // --- Tables that are cut along the rows that are selected
  // ---------------------------------------

  /// The operator on its rows alone, indices shifted. Rows of other parts count as 0: in the
  /// result, if each of its elements has an index of its own, else by a row of zeros that they are
  /// sent to.
  std::optional<Part> selecting(std::size_t l) const {
    const Loop& loop = space_.loops[l];
    PartBox all_rows = box_;
    all_rows[l] = {0, loop.size};
    const auto selection = partition::selection_of(*space_.digits, loop.variables);
    const auto candidate = Restriction(graph_, id_, space_, all_rows).exact();
    const bool reads_all =
        std::ranges::none_of(regions_.inputs, [](const DigitRegion& r) { return r.is_empty(); });
    if (!selection || !candidate || !reads_all) return std::nullopt;
    PartGraph graph;
    std::vector<std::size_t> inputs;
    std::vector<TensorId> operands;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      const TensorType& type = graph_.tensor(node_.inputs[k]).type;
      operands.push_back(graph.input(type, regions_.inputs[k].extents()));
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
    auto part = finished(std::move(graph), *std::move(results), std::move(inputs));
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

  core::Result<Part> finished(PartGraph graph, std::vector<TensorId> results,
                              std::vector<std::size_t> inputs) const {
    graph.builder().set_outputs(std::move(results));
    auto made = std::move(graph.builder()).finish();
    if (!made) return made.error();
    Part part{*std::move(made), std::move(inputs), regions_};
    return part;
  }

  /// The whole operator, which costs nothing, and the part's piece of its results.
  core::Result<Part> sliced_whole() {
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
      if (given_[k].is_empty()) {
        operands.push_back(graph.zeros(type.data_type, dims));
        continue;
      }
      regions_.inputs[k] = DigitRegion::whole(dims);
      operands.push_back(graph.input(type, dims));
      inputs.push_back(k);
    }
    for (TensorId id : node_.outputs) outputs.push_back(graph_.tensor(id).type);
    std::vector<TensorId> results =
        graph.builder().add_node(*node_.op, node_.attributes, std::move(operands), outputs);
    for (std::size_t k = 0; k < results.size(); ++k)
      results[k] = graph.take(results[k], regions_.outputs[k]);
    return finished(std::move(graph), std::move(results), std::move(inputs));
  }

  const core::Graph& graph_;
  const core::NodeId id_;
  const core::Node& node_;
  const OpDefinition& definition_;
  const PartitionSpace& space_;
  const PartBox& box_;
  PartRegions regions_;
  std::vector<DigitRegion> given_;  // by input: what the operator is given of it
};

}  // namespace

core::Result<Part> restrict_to(const core::Graph& graph, core::NodeId node,
                               const PartitionSpace& space, const PartBox& box) {
  CHECK(space.digits, "the node cannot be analyzed");
  return Restriction(graph, node, space, box).run();
}

}  // namespace soapstone::ops
