// The steps of a candidate again, without some of them: what single changes are worth is seen when
// they are made alone.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "search/base/types.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// A graph to which some sites of a candidate were applied.
struct Replayed {
  core::Graph graph;
  std::vector<Step> steps;    ///< With the ids that this graph has.
  std::vector<bool> applied;  ///< By site.
};

class SiteReplay {
 public:
  /// Preconditions: `steps` lead from `base` to a candidate; `base` and `rules` must outlive this.
  /// Steps of one site that have nothing to do with each other become sites of their own.
  /// Complexity: linear in steps times graph, here and for each replay.
  SiteReplay(const core::Graph& base, std::vector<Step> steps, verifier::Admission& rules);

  std::size_t sites() const { return sites_; }
  /// All steps, with these sites.
  const std::vector<Step>& steps() const { return steps_; }
  /// The chosen sites (by site), in the order of the candidate. One that builds on a site that was
  /// not chosen is left out whole.
  Replayed with(std::vector<bool> chosen) const;

 private:
  /// What one step of the candidate has added.
  struct Added {
    std::size_t nodes_before = 0, nodes_after = 0, tensors_before = 0, tensors_after = 0;
    std::vector<core::TensorId> results;  ///< By output of the match.
  };
  class Translation;

  void divide_sites();
  bool builds_on(std::size_t later, std::size_t earlier) const;
  std::optional<Replayed> try_with(std::vector<bool>& chosen) const;

  const core::Graph& base_;
  std::vector<Step> steps_;
  verifier::Admission& rules_;
  std::vector<Added> added_;  ///< By step.
  std::size_t sites_ = 0;
};

}  // namespace soapstone::search
