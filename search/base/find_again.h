// Finds a rewrite again that was found in a like graph before.
#pragma once

#include <optional>
#include <span>

#include "core/graph/graph.h"
#include "search/proofs/lemma.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// A rule or lemma, and where it should match.
struct Sought {
  core::RuleId rule;
  LemmaPtr lemma;  ///< Stands for the rule if it is set.
  std::span<const core::NodeId> nodes;
  std::span<const core::TensorId> inputs;
  std::span<const std::int64_t> sizes;
};

/// The match with these nodes, inputs and sizes, if the graph has it and it may be replaced.
std::optional<rules::Match> find_again(const core::Graph& graph, verifier::Admission& rules,
                                       const Sought& sought);

}  // namespace soapstone::search
