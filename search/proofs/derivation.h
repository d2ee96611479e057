// Equalities that follow from rules step by step. Each step says that a rule holds at some tensors;
// graphs that are equal by congruence then are equal. This is the part that a proof chain's reader
// trusts: it believes no search, only the matcher, the prover and the e-graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "rules/saturation/egraph.h"
#include "verifier/admission.h"

namespace soapstone::search {

/// The tensors of a graph in the order in which steps number them: inputs, constants as they are
/// met, equal ones once, results of nodes.
std::vector<core::TensorId> numbered_tensors(const core::Graph& graph);

/// Both sides of a rule at certain sizes, over inputs of their own.
struct Equation {
  core::Graph left, right;
  /// The tensors of `right` that the target's constants and nodes became, in the order of
  /// numbered_tensors(target) without its inputs.
  std::vector<core::TensorId> made;
};

/// Matches the rule's source, of these sizes, with inputs of these types, has it admitted, and
/// applies it. Errors: kNotEquivalent: it does not match there, or is not admitted.
core::Result<Equation> equation_at(verifier::Admission& rules, core::RuleId rule,
                                   std::span<const core::TensorType> inputs,
                                   std::span<const std::int64_t> sizes);

/// Decides equality under the equations that were assumed.
class Derivation {
 public:
  explicit Derivation(const core::Graph& source);

  /// How many tensors have a number: the source's, then what each equation has made.
  std::size_t size() const { return tensors_.size(); }
  const core::TensorType& type(std::size_t tensor) const { return graph_.type(tensors_[tensor]); }
  /// The equation holds with these tensors for its inputs. Precondition: they have its types.
  void assume(const Equation& equation, std::span<const std::size_t> inputs);
  /// Whether each result of this graph equals that of the source. Precondition: same inputs.
  bool gives(const core::Graph& target);

 private:
  rules::EGraph graph_;
  std::vector<rules::ClassId> inputs_, outputs_, tensors_;
};

}  // namespace soapstone::search
