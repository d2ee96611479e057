// The fair baseline: the rewrites that every good runtime makes before it runs a model. Nothing
// here counts as a gain of the search.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "ops/ranges/special_values.h"
#include "rules/rule/rule.h"
#include "runtime/launches/backend.h"
#include "verifier/admission.h"

namespace soapstone::search {

struct SimplifyStep {
  enum class Kind : std::uint8_t {
    kRule,             ///< `rule` at `match`.
    kMergeDuplicates,  ///< merge_duplicates()
    kDecideChoices,    ///< decide_choices() of `match.nodes`.
  };
  Kind kind = Kind::kMergeDuplicates;
  core::RuleId rule = core::RuleId::none();
  rules::Match match = {};
  std::uint64_t hash = 0;  ///< Hash of the graph after the step.
};

struct SimplifyReport {
  std::map<std::string, int> rules_applied;  ///< By Rule::base_name.
  int merged_duplicates = 0;
  std::vector<SimplifyStep> steps;
};

/// Whether a constant may be another one at other sizes of the model.
using MayVary = std::function<bool(const core::Literal&)>;

struct SimplifyOptions {
  bool behind_opaque = true;  ///< False: what depends on opaque nodes stays as it is.
  bool decides = true;        ///< False: choices stay.
  MayVary may_vary;           ///< Choices by such constants stay.
  ops::Surroundings surroundings;
};

/// Applies the `baseline` rules that are admitted until none matches, and merges equal nodes.
/// Every baseline rule must shrink the graph or move work into constants, or this would not end:
/// the rewrites and the growth of the graph are bounded. At `stop` the rest is left out. Errors:
/// kInvalidInput if a bound is reached; it names the rule.
core::Result<core::Graph> simplify(const core::Graph& graph, verifier::Admission& baseline,
                                   SimplifyReport* report = nullptr,
                                   const core::StopToken& stop = {},
                                   const SimplifyOptions& options = {});

/// The number as an attribute says it. None: no attribute does, as of an infinity or a negative
/// zero.
std::optional<double> as_attribute(float number);

/// f32 weights that are the same all along a dimension have size 1 there, if all that read them
/// would repeat them.
core::Graph narrow_constants(const core::Graph& graph);

/// f32 weights of several elements become `full` or `eye` where that is what they hold.
core::Graph name_constants(const core::Graph& graph);

/// Constant expressions of single f32 numbers become numbers, those of tensors that are filled with
/// one number that stands for no weights are filled with one.
core::Graph fold_numbers(const core::Graph& graph);

/// The choices that a constant makes in one way everywhere, of an operand that has the shape of the
/// result, in the order of the graph; but for those by constants that may vary.
std::vector<core::NodeId> decided_choices(const core::Graph& graph, const MayVary& may_vary = {});

/// In place of each of these choices its operand is read. `choices` are in the order of the graph.
/// None: a constant decides one of them nowhere, or not in one way everywhere.
std::optional<core::Graph> decide_choices(const core::Graph& graph,
                                          std::span<const core::NodeId> choices);

/// narrow_constants(), name_constants() and fold_numbers(), and nodes with the
/// same operator, attributes and inputs become one.
core::Graph merge_duplicates(const core::Graph& graph, int* merged = nullptr,
                             bool behind_opaque = true);

/// Constant expressions become constants, computed on the backend, but for those that are smaller
/// as they are: a large `full`, weights of small integers, versions of a weight that is read
/// itself. The nodes of `kept` stay, too, although they are constant.
core::Result<core::Graph> fold_constants(const core::Graph& graph, runtime::Backend& backend,
                                         std::span<const core::NodeId> kept = {});

}  // namespace soapstone::search
