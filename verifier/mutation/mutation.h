// Wrong rules made of right ones: one or two small changes, of the kind a person makes by mistake.
// They measure whether the prover ever accepts what is wrong and whether refutation finds it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule/rule.h"
#include "rules/sampling/sample.h"

namespace soapstone::verifier {

enum class MutationKind : std::uint8_t {
  kSwapInputs,      ///< Two inputs of a node.
  kConcatOrder,     ///< Two parts of a concatenation.
  kRewire,          ///< An input of a node is another tensor of its side.
  kSwapRuleInputs,  ///< Throughout the target.
  kExchangeResults,
  kDropOperator,
  kSiblingOperator,
  kAxis,
  kReducedAxes,
  kKeepDims,
  kStride,
  kDilation,
  kPadding,     ///< Padding of a window.
  kConvention,  ///< All pads 0, ceil_mode, count_include_pad.
  kGroup,
  kKernel,
  kExtent,  ///< Extent of a slice, a split, a pad.
  kPermutation,
  kShape,     ///< Shape of a reshape, an expand, a full.
  kConstant,  ///< A literal or a real attribute.
  kEpsilon,
  kVariant,    ///< A text attribute: which approximation, which type.
  kInputSize,  ///< A size in the shape of a rule input.
  kCondition,  ///< A `where` clause is dropped.
  kElements,   ///< All inputs of one element type have another: integers, f16, f64.
};
inline constexpr std::size_t kMutationKinds = 25;
std::string_view to_string(MutationKind kind);

struct Mutant {
  rules::Rule rule;
  std::vector<MutationKind> kinds;  ///< One or two.
  std::string what;                 ///< `target: t = transpose: perm [1, 0] -> [0, 1]`
};

class Mutator {
 public:
  /// Rules of one base name share their chance of being picked.
  /// Precondition: origins without parameters (rules::specialize), at least one.
  Mutator(std::vector<rules::Rule> origins, std::uint64_t seed);

  /// A well-typed rule that differs from its origin and from all mutants before it.
  /// None: many attempts in a row made nothing new.
  std::optional<Mutant> next();

 private:
  std::optional<Mutant> attempt(MutationKind kind);
  const rules::Rule& pick_origin();

  std::vector<rules::Rule> origins_;
  std::vector<std::vector<std::size_t>> by_base_name_;
  rules::Random random_;
  std::set<std::uint64_t> made_;  ///< Hashes, also of the origins.
};

/// A hash of both sides and the conditions, without names.
std::uint64_t structure_hash(const rules::Rule& rule);

}  // namespace soapstone::verifier
