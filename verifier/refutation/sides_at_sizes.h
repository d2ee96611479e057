// Both sides of a rule at some sizes, ready to be run on numbers and compared. Knows nothing of
// proofs.
#pragma once

#include <optional>
#include <vector>

#include "ops/evaluation/evaluate.h"
#include "rules/sampling/sample.h"

namespace soapstone::verifier {

/// By input, row-major.
using InputValues = std::vector<std::vector<double>>;

/// How input elements are drawn.
enum class Draw : std::uint8_t {
  kIntegers,  ///< Small: sums and products of them are exact.
  kReals,     ///< In [-2, 2], never special.
  kPositive,
  kNegative,
  kLarge,  ///< Beyond bounds such as those of a clip.
};

/// An element of a result at which the sides differ by more than rounding.
struct Difference {
  std::size_t output = 0, element = 0;
  double source = 0, target = 0;
};

/// Some tensor has too many elements to be of use.
bool is_too_large(const core::Graph& side);

class SidesAtSizes {
 public:
  /// Errors: kInvalidInput: these sizes have no types, or a tensor of the source is empty, which no
  /// match is; kUnsupported: too large to be of use.
  static core::Result<SidesAtSizes> make(const rules::Rule& rule, const rules::Bindings& values);

  const core::Graph& source() const { return source_; }
  const core::Graph& target() const { return target_; }
  InputValues draw(Draw kind, rules::Random& random) const;
  /// The first difference where the source has a value. That the target has none counts if
  /// `missing_counts`: the inputs are nothing special, so that it is no accident.
  std::optional<Difference> compare(const InputValues& inputs, bool missing_counts) const;
  /// Whether the sides differ there by more than rounding on the way explains
  /// (rules/floats/noise.h).
  bool is_certain(const InputValues& inputs, const Difference& difference) const;

 private:
  SidesAtSizes(core::Graph source, core::Graph target, ops::GraphProgram<double> source_program,
               ops::GraphProgram<double> target_program)
      : source_(std::move(source)), target_(std::move(target)),
        source_program_(std::move(source_program)), target_program_(std::move(target_program)) {}

  core::Graph source_, target_;
  ops::GraphProgram<double> source_program_, target_program_;
};

}  // namespace soapstone::verifier
