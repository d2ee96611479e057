// A rule taken apart into plain vectors, so that one thing in it can be changed, and put together
// again. Only the tests of the prover need this: mutants are made from drafts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::verifier {

/// A tensor of one side: a leaf (input or constant) or a result of a node. Ordered by age.
struct DraftValue {
  static constexpr std::int32_t kAbsent = -2, kLeaf = -1;
  std::int32_t node = kAbsent;
  std::uint32_t index = 0;
  auto operator<=>(const DraftValue&) const = default;
};

struct DraftNode {
  const core::OpSchema* op = nullptr;
  core::Attributes attributes;
  std::vector<DraftValue> inputs;
  std::vector<std::string> results;  ///< Their names, which may be empty.
};

struct DraftSide {
  std::vector<core::Tensor> leaves;  ///< All rule inputs, then constants.
  std::vector<DraftNode> nodes;      ///< A node reads only what is before it.
  std::vector<DraftValue> outputs;

  /// Every reader of `from` reads `to` instead.
  void replace_uses(DraftValue from, DraftValue to);
};

struct RuleDraft {
  /// Precondition: no parameters left (rules::specialize).
  explicit RuleDraft(const rules::Rule& rule);
  /// Makes the rule, without nodes that no output needs. Errors: as rules::complete; also a rule
  /// input that the source does not read, and a source result that is an input or there twice.
  core::Result<rules::Rule> finish(std::string name) const;
  const core::SymbolTable& symbols() const { return symbols_; }

  DraftSide source, target;
  std::vector<bool> constant_inputs;
  std::vector<ops::SizeConstraint> where;

 private:
  core::SymbolTable symbols_;  ///< Without those of derived sizes.
};

}  // namespace soapstone::verifier
