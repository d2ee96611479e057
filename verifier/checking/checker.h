// The trusted part: are two normal forms equal for all values of the rule's inputs, wherever the
// context holds? Positive answers rest on three facts only. A bijection of the integers with
// determinant ±1 does not change a sum over all of them. Summands with equal bodies are equal in
// sum if their guards, weighted with the coefficients, add up to zero. Functions of equal arguments
// are equal.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "verifier/checking/equality.h"
#include "verifier/checking/proof_context.h"

namespace soapstone::verifier {

class Checker final : public Equality {
 public:
  explicit Checker(const ProofContext& proof) : proof_(proof) {}

  bool equal(const NormalForm& a, const NormalForm& b, const FactSet& context) override;

 private:
  /// Guards of `b` in the names of `a`'s binders.
  using Mapped = std::function<Reply(const FactSet&)>;

  bool equal(const Linear& a, const Linear& b, const FactSet& context);
  bool equal(const Atom* a, const Atom* b, const FactSet& context);
  bool equal_pieces(const Atom& a, const Atom& b, const FactSet& context);
  bool equal_factors(std::vector<Factor> a, std::vector<Factor> b, const FactSet& context);
  bool match_factors(const std::vector<Factor>& a, const std::vector<Factor>& b, std::size_t at,
                     std::vector<bool>& used, const FactSet& context);
  bool equivalent(const FactSet& a, const FactSet& b, const FactSet& context);
  /// Calls `found` for each way in which the body of `b` equals that of `a`, until it is done.
  bool for_each_mapping(const Summand& a, const Summand& b, const FactSet& context,
                        const Mapped& found);
  void cancel_pairs(NormalForm& a, NormalForm& b, const FactSet& context);
  bool adds_up_to_zero(const std::vector<Summand>& summands, const FactSet& context);

  ProofContext proof_;
  std::map<std::tuple<const Atom*, const Atom*, FactSet>, bool> known_;
};

}  // namespace soapstone::verifier
