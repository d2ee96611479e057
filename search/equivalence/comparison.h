// The part that both checks, ours and the judge's, share. It compares results sample by sample, and
// asks for the effect of rounding only if that matters.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "search/equivalence/equivalence.h"

namespace soapstone::search {

/// The results of the original on one sample.
struct Expected {
  std::vector<std::vector<double>> values;  ///< By output.
  std::vector<Rounding> rounding;           ///< Likewise; empty: not asked for yet, or unknown.
};

/// The inputs of the sample that was asked for last: those of a large batch take seconds to draw.
class LastInputs {
 public:
  /// Valid until the next call.
  const std::vector<core::Literal>& of(const core::Graph& graph, const EquivalenceOptions& options,
                                       int sample);

 private:
  int sample_ = -1;
  std::vector<core::Literal> inputs_;
};

/// Finds out Expected::rounding, or more of it if it was asked `turn` times before; may leave it
/// empty. False: nothing more is to be learned.
using AskRounding = std::function<bool(Expected&, int turn)>;

/// Finds out what the range of types does to an output, by its number.
using AskRange = std::function<RangeEvidence(std::size_t output)>;

/// Rounding shows in few places where an original is sensitive, as at two scores of attention that
/// are nearly the same, and one run with numbers moved may miss them.
inline constexpr int kMostMoves = 8;

/// What a run with numbers moved says of the sample: where the terms of sums are all alike, their
/// rounding adds up.
Rounding of_moved(const EquivalenceOptions& options, int sample, const Floor& floor, Rounding seen);

class Comparison {
 public:
  /// `floors`: by output.
  Comparison(const EquivalenceOptions& options, std::vector<Floor> floors,
             const std::vector<std::string>& output_names);

  /// Whether the results are within tolerance. `how` says for a reader how they were computed: " in
  /// double precision".
  bool add(int sample, Expected& expected, const std::vector<std::vector<double>>& actual,
           const AskRounding& ask, const AskRange& ask_range, std::string_view how = {});
  /// In double precision: both sides, by output.
  bool add_exact(int sample, Expected& expected, const std::vector<std::vector<double>>& exact,
                 const std::vector<std::vector<double>>& actual, const AskRounding& ask);
  /// There is no result to compare.
  void fail(int sample, std::string what);
  EquivalenceReport take(int samples);

 private:
  void differ(int sample, std::size_t output, std::string what);
  Latitude latitude_on(int sample) const;
  bool same_exactly(int sample, std::size_t output, const Expected& expected,
                    const std::vector<double>& exact, std::vector<double> actual,
                    OutputError& error) const;

  const EquivalenceOptions& options_;
  std::vector<Floor> floors_;
  EquivalenceReport report_;
};

/// Texts become nothing.
std::vector<double> values_of(const core::Literal& literal);
std::vector<std::vector<double>> to_doubles(const std::vector<core::Literal>& literals);

}  // namespace soapstone::search
