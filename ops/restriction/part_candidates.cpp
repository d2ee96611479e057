#include "ops/restriction/part_candidates.h"

#include <algorithm>

#include "ops/gradients/gradient_operator.h"

namespace soapstone::ops::partition {

using core::Attributes;
using core::TensorId;
using core::TensorType;

PartCandidates::PartCandidates(const core::Graph& graph, core::NodeId id,
                               const PartitionSpace& space, const PartBox& box)
    : graph_(graph), node_(graph.node(id)), definition_(*definition_of(node_)),
      gradient_of_(nullptr), space_(space), box_(box), regions_(part_regions(space, box)),
      given_(regions_with_all_terms()) {
  if (const auto gradient = gradient_of(graph, id)) gradient_of_ = gradient->op;
}

/// Every part of a sum is given the inputs that only the first adds: the others get zeros.
std::vector<DigitRegion> PartCandidates::regions_with_all_terms() const {
  PartBox first = box_;
  for (std::size_t l = 0; l < box_.size(); ++l)
    if (!space_.loops[l].once.empty()) first[l] = {0, box_[l].high - box_[l].low};
  std::vector<DigitRegion> given = regions_.inputs;
  const PartRegions all = part_regions(space_, first);
  for (std::size_t k = 0; k < given.size(); ++k)
    if (given[k].is_empty()) given[k] = all.inputs[k];
  return given;
}

bool PartCandidates::is_independent_of_inputs() const {
  return std::ranges::all_of(given_, [](const DigitRegion& r) { return r.is_empty(); });
}

PartProblem PartCandidates::problem() const {
  PartProblem problem{*space_.digits, {}, given_, kept(), {}};
  for (std::size_t l = 0; l < box_.size(); ++l)
    if (is_cut(l))
      for (Symbol symbol : space_.loops[l].variables) problem.cut[symbol] = box_[l];
  for (const DigitRegion& output : regions_.outputs)
    problem.begins.emplace_back(output.extents().size(), Polynomial(0));
  return problem;
}

std::vector<std::size_t> PartCandidates::kept() const {
  std::vector<std::size_t> kept;
  const bool drops = node_.op->max_inputs == core::OpSchema::kAnyNumber && !gradient_of_;
  for (std::size_t k = 0; k < node_.inputs.size(); ++k)
    if (!drops || !given_[k].is_empty()) kept.push_back(k);
  return kept;
}

std::vector<TensorType> PartCandidates::input_types() const {
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

std::vector<core::Dims> PartCandidates::output_extents() const {
  std::vector<core::Dims> extents;
  for (const DigitRegion& output : regions_.outputs) extents.push_back(output.extents());
  return extents;
}

std::vector<TensorType> PartCandidates::output_types() const {
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < node_.outputs.size(); ++k)
    types.push_back({graph_.tensor(node_.outputs[k]).type.data_type,
                     core::to_shape(regions_.outputs[k].extents())});
  return types;
}

std::optional<std::vector<TensorType>>
PartCandidates::inferred(const Attributes& attributes,
                         const std::vector<TensorType>& inputs) const {
  auto types = infer_types(*node_.op, attributes, inputs);
  return types ? std::optional(*std::move(types)) : std::nullopt;
}

Semantics PartCandidates::meaning(const Attributes& attributes,
                                  const std::vector<TensorType>& inputs,
                                  const std::vector<TensorType>& outputs) const {
  return definition_.semantics(OpInstance{attributes, inputs, outputs});
}

/// The shape rule would tell it of other operators, but not while numbers are open.
bool PartCandidates::has_meaning(const Attributes& attributes,
                                 const std::vector<TensorType>& inputs) const {
  return !gradient_of_ || gradient_fits(*gradient_of_, attributes, inputs);
}

std::optional<Candidate> PartCandidates::exact() const {
  for (const Attributes& attributes : scaled_attributes(node_, cuts()))
    if (auto candidate = exact(attributes)) return candidate;
  return std::nullopt;
}

std::vector<CutSize> PartCandidates::cuts() const {
  std::vector<CutSize> cuts;
  for (std::size_t l = 0; l < box_.size(); ++l)
    if (is_cut(l)) cuts.push_back({space_.loops[l].size, box_[l].high - box_[l].low, places_of(l)});
  return cuts;
}

std::vector<CutSize::Place> PartCandidates::places_of(std::size_t loop) const {
  std::vector<CutSize::Place> places;
  const auto rank = [&](TensorId id) { return graph_.tensor(id).type.shape.size(); };
  for (const LoopPlace& place : space_.loops[loop].follows)
    places.push_back({rank(node_.inputs[place.tensor]), place.dim});
  for (const LoopPlace& place : space_.loops[loop].outputs)
    places.push_back({rank(node_.outputs[place.tensor]), place.dim});
  return places;
}

PartShapes PartCandidates::shapes() const {
  PartShapes shapes{{}, output_extents(), cuts()};
  for (std::size_t k = 0; k < node_.inputs.size(); ++k)
    shapes.inputs.push_back(node_.inputs[k].valid() ? std::optional(given_[k].extents())
                                                    : std::nullopt);
  return shapes;
}

std::optional<Candidate> PartCandidates::exact(const Attributes& scaled) const {
  const auto inputs = input_types();
  const auto outputs = output_types();
  const Attributes open = open_attributes(node_, scaled, shapes());
  if (!has_meaning(open, inputs)) return std::nullopt;
  const PartProblem problem = this->problem();
  const auto solution = solution_of(problem, meaning(open, inputs, outputs));
  const Attributes begun = with_begins(open, solution, begins_of(node_));
  const auto infer = [&](const Attributes& attributes) -> std::optional<core::Dims> {
    const auto types = inferred(attributes, inputs);
    return types ? core::concrete((*types)[0].shape) : std::nullopt;
  };
  for (Attributes& attributes : with_ends(node_, begun, regions_.outputs[0].extents(), infer)) {
    if (inferred(attributes, inputs) != outputs) continue;
    auto result = compare(problem, meaning(attributes, inputs, outputs), solution);
    if (!result) continue;
    Candidate candidate{std::move(attributes), inputs, outputs, {}, *std::move(result)};
    for (const core::Dims& dims : output_extents()) candidate.begins.emplace_back(dims.size());
    return candidate;
  }
  return std::nullopt;
}

std::vector<PartCandidates::Halo> PartCandidates::halos() const {
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

bool PartCandidates::is_tied(std::size_t input, std::size_t dim) const {
  for (std::size_t l = 0; l < box_.size(); ++l)
    for (const LoopPlace& place : space_.loops[l].follows)
      if (is_cut(l) && place.tensor == input && place.dim == dim && place.divisor == 1 &&
          place.window == Interval{0, place.stride})
        return true;
  return false;
}

std::optional<Candidate> PartCandidates::larger() {
  constexpr std::int64_t kMost = 4;  // elements more than are read, at both ends together
  const std::vector<DigitRegion> read = given_;
  const std::vector<Halo> halos = this->halos();
  const auto with_more = [&](std::int64_t before, std::int64_t behind) {
    given_ = read;
    for (const Halo& halo : halos) enlarge(halo, before, behind);
    auto candidate = before + behind > 0 ? exact() : std::nullopt;
    if (!candidate) candidate = overhanging();
    if (candidate)
      for (const Halo& halo : halos) regions_.inputs[halo.input] = given_[halo.input];
    return candidate;
  };
  for (std::int64_t more = 0; more <= (halos.empty() ? 0 : kMost); ++more)
    for (std::int64_t before = 0; before <= more; ++before)
      if (auto candidate = with_more(before, more - before)) return candidate;
  // The part of one operand may lie anywhere in the result of a join.
  std::int64_t all = 0;
  for (const Halo& halo : halos) all = std::max(all, read[halo.input].tensor_dims()[halo.dim]);
  if (all > 0)
    if (auto candidate = with_more(all, all)) return candidate;
  given_ = read;
  return std::nullopt;
}

void PartCandidates::enlarge(const Halo& halo, std::int64_t before, std::int64_t behind) {
  auto dims = given_[halo.input].dims();
  DigitInterval& digit = dims[halo.dim][0];
  digit.values = {std::max<std::int64_t>(halo.values.low - before, 0),
                  std::min(halo.values.high + behind, digit.radix)};
  given_[halo.input] = DigitRegion(std::move(dims));
}

/// The operator as it is; its result holds the part, beginning where equations tell.
std::optional<Candidate> PartCandidates::overhanging() const {
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
      if ((*dims)[d] > wanted[d]) problem.begins[k][d] = Polynomial(unknown(next++));
    }
  }
  const Semantics part = meaning(node_.attributes, inputs, *outputs);
  const auto solution = solution_of(problem, part);
  Candidate candidate{node_.attributes, inputs, *outputs, {}, {}};
  for (std::size_t k = 0; k < outputs->size(); ++k) {
    const core::Dims extents = regions_.outputs[k].extents();
    candidate.begins.emplace_back();
    for (std::size_t d = 0; d < extents.size(); ++d) {
      Polynomial& begin = problem.begins[k][d];
      begin = with_solution(begin, solution);
      if (!begin.is_constant()) begin = 0;
      const std::int64_t size = (*outputs)[k].shape[d].constant();
      if (begin.constant() < 0 || begin.constant() + extents[d] > size) return std::nullopt;
      candidate.begins.back().push_back(begin.constant());
    }
  }
  auto result = compare(problem, part, solution);
  if (!result) return std::nullopt;
  candidate.result = *std::move(result);
  return candidate;
}

}  // namespace soapstone::ops::partition
