// The operators that may compute a part: the operator on exactly what the part reads, on a little
// more, or with a larger result. Each is compared with the whole before it is one.
#pragma once

#include <optional>
#include <vector>

#include "ops/definition/registry.h"
#include "ops/partition/part_regions.h"
#include "ops/restriction/open_attributes.h"
#include "ops/restriction/part_comparison.h"

namespace soapstone::ops::partition {

/// An operator that computes the part, or more than it.
struct Candidate {
  core::Attributes attributes;
  std::vector<core::TensorType> inputs, outputs;
  std::vector<core::Dims> begins;  ///< By output: where the part begins in it.
  PartResult result;
};

class PartCandidates {
 public:
  /// All must outlive this.
  PartCandidates(const core::Graph& graph, core::NodeId id, const PartitionSpace& space,
                 const PartBox& box);

  bool is_cut(std::size_t loop) const { return box_[loop] != Interval{0, space_.loops[loop].size}; }
  /// What the part reads and gives; larger() may need more.
  const PartRegions& regions() const { return regions_; }
  /// By input: what the operator is given of it.
  const std::vector<DigitRegion>& given() const { return given_; }
  bool is_independent_of_inputs() const;
  /// A join of any number of operands does without those that it does not read; its gradient has
  /// places for all of them.
  std::vector<std::size_t> kept() const;

  /// The operator on exactly what is read.
  std::optional<Candidate> exact() const;
  /// The operator on more than that, or one whose result holds the part.
  std::optional<Candidate> larger();

 private:
  /// A dimension of an input of which a part reads a piece that is not tied to a loop element for
  /// element: a halo may be larger.
  struct Halo {
    std::size_t input, dim;
    Interval values;
  };

  std::vector<DigitRegion> regions_with_all_terms() const;
  PartProblem problem() const;
  std::vector<core::TensorType> input_types() const;
  std::vector<core::Dims> output_extents() const;
  std::vector<core::TensorType> output_types() const;
  std::optional<std::vector<core::TensorType>>
  inferred(const core::Attributes& attributes, const std::vector<core::TensorType>& inputs) const;
  Semantics meaning(const core::Attributes& attributes, const std::vector<core::TensorType>& inputs,
                    const std::vector<core::TensorType>& outputs) const;
  std::vector<CutSize> cuts() const;
  std::vector<CutSize::Place> places_of(std::size_t loop) const;
  PartShapes shapes() const;
  std::optional<Candidate> exact(const core::Attributes& scaled) const;
  std::vector<Halo> halos() const;
  bool is_tied(std::size_t input, std::size_t dim) const;
  void enlarge(const Halo& halo, std::int64_t before, std::int64_t behind);
  std::optional<Candidate> overhanging() const;

  bool has_meaning(const core::Attributes& attributes,
                   const std::vector<core::TensorType>& inputs) const;

  const core::Graph& graph_;
  const core::Node& node_;
  const OpDefinition& definition_;
  const OpDefinition* gradient_of_;  ///< The operator that it is a gradient of; null: it is none.
  const PartitionSpace& space_;
  const PartBox& box_;
  PartRegions regions_;
  std::vector<DigitRegion> given_;
};

}  // namespace soapstone::ops::partition
