// One attempt to prove a rule: both sides read as normal forms and compared, in several ways.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "verifier/checking/checker.h"
#include "verifier/proof/verify.h"
#include "verifier/reading/graph_reader.h"

namespace soapstone::verifier {

/// How each side's indices are split.
struct DigitOrders {
  DigitOrder source, target;
};

class Attempt {
 public:
  /// With `rounds`, it is whether both sides have the same bits that is to be proved.
  Attempt(const rules::Rule& rule, Solver& solver, const VerifyOptions& options,
          Witness witness = {}, bool rounds = false)
      : rule_(rule), options_(options), sizes_(solve_sizes(rule)), witness_(std::move(witness)),
        budget_(options.max_steps, options.max_pairs, options.stopped),
        oracle_(sizes_.background, sizes_.sizes, solver, witness_, budget_),
        laws_({arena_, oracle_, budget_},
              [this] { return std::make_unique<Checker>(laws_.proof); }),
        source_(rule.source, sizes_, laws_, options.unknown_numbers, rounds),
        target_(rule.target, sizes_, laws_, options.unknown_numbers, rounds), solver_(solver) {}

  enum class Effort : std::uint8_t { kFirstWay, kAllWays };
  /// Empty: proved. Otherwise why not; kProofStopped if VerifyOptions::stopped said so.
  std::string run(Effort effort = Effort::kAllWays);
  /// Leaves out what the proof of equality did without.
  void do_without_expansion() { may_expand_ = false; }
  bool has_expanded() const { return expanded_; }
  /// Both sides have values at the same inputs, as far as is known.
  bool keeps_domain() const { return keeps_domain_; }
  /// The values are equal, but the target demands more of the inputs.
  bool lacks_values() const { return lacks_values_; }
  const ProofRecord& record() const { return witness_.record(); }
  std::uint64_t steps() const { return budget_.spent(); }
  std::uint64_t pairs_tried() const { return budget_.pairs_tried(); }

 private:
  /// An element of a result at any position.
  struct Element {
    std::vector<Linear> index;
    FactSet ranges;
    std::vector<Symbol> symbols;  ///< Those in the index.
  };
  static constexpr std::int64_t kMaxEnumerated = 64;

  std::string compare(std::size_t output, Effort effort);
  std::string compare_requirements();
  Element any_element(const std::vector<Linear>& shape);
  NormalForm congruent(core::TensorId result, NormalForm form, const Element& element);
  bool equal_at(core::TensorId left, core::TensorId right, const Element& element);
  bool equal_at_each(core::TensorId left, core::TensorId right, const Element& element);

  void note_equation(const NormalForm& form, const Element& element);
  bool equal_in_cases(core::TensorId left, core::TensorId right, const Element& element, int depth);

  static constexpr int kMaxEquations = 2;
  std::optional<Fact> equation_;   ///< The last comparison depended on this one of indices.
  std::vector<DigitOrders> ways_;  ///< To split indices, to be tried in turn.
  std::size_t way_ = 0;            ///< The one that is tried.
  std::string reason_;             ///< The last comparison ended early because of this.

  const rules::Rule& rule_;
  const VerifyOptions& options_;
  SizeSystem sizes_;
  Witness witness_;
  Budget budget_;
  Oracle oracle_;
  Arena arena_;
  Laws laws_;
  GraphReader source_;
  GraphReader target_;
  Solver& solver_;
  bool thorough_ = true;
  bool keeps_domain_ = true;
  bool lacks_values_ = false;
  bool may_expand_ = true;
  bool expanded_ = false;
};

}  // namespace soapstone::verifier
