// The values of index variables while a part is compared with the whole: both sides over the digits
// of the part's index, with the ranges of these and the unknowns that equations have told.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ops/restriction/expression_views.h"
#include "ops/restriction/part_comparison.h"

namespace soapstone::ops::partition {

class PartValues {
 public:
  using Environment = std::map<Symbol, Polynomial>;
  /// `keeps_unknowns`: those that `known` does not tell stay; otherwise nothing depends on them.
  PartValues(const PartProblem& problem, const Semantics& part, const Solution& known,
             bool keeps_unknowns);

  /// Variables are those of output k alone, where the part begins.
  void begin_output(std::size_t k);
  Polynomial of_whole(const Polynomial& p) const;
  Polynomial of_part(const Polynomial& p) const { return of(p, now_.part); }
  std::vector<Constraint> substituted(const std::vector<Constraint>& constraints,
                                      bool is_whole) const;
  /// Whether some values of the variables satisfy the constraints, as far as is known.
  bool is_possible(const std::vector<Constraint>& constraints, bool is_whole) const;

  /// What bodies of sums and stages change, to be put back.
  struct Scope {
    Environment whole, part;
    analysis::Ranges ranges;
  };
  const Scope& scope() const { return now_; }
  void restore(Scope scope) { now_ = std::move(scope); }
  analysis::Ranges& ranges() { return now_.ranges; }
  const analysis::Ranges& ranges() const { return now_.ranges; }

  /// Index variables of the stage that is read become what the read says. False: the index is not
  /// seen to fall apart into them.
  bool enter_stage_of_whole(const ExprNode& read);
  bool enter_stage_of_part(const ExprNode& read);

  /// Binds variables with one value, which need not be written as such, and removes them. Where
  /// both sums have as many variables they stay pairs.
  void drop_single_values(std::vector<Binder>& a, std::vector<Binder>& b);
  /// The variables of two sums, which run over the same values but for where the part begins. `all`
  /// gets the values of those of which the part's sum has some.
  bool bind(const Binder& a, const Binder& b, analysis::Ranges& all);

 private:
  std::int64_t bind(Symbol digit, std::int64_t size);
  void bind_some(const VariableDigit& digit, std::int64_t size, analysis::Ranges& all);
  Polynomial finished(const Polynomial& p) const;
  Polynomial of(const Polynomial& p, const Environment& values) const;

  const PartProblem& problem_;
  const DigitSpace& space_;
  const Semantics &whole_, &part_;
  const Solution& known_;
  const bool keeps_unknowns_;
  Scope now_;
};

}  // namespace soapstone::ops::partition
