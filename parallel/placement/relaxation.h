// The Lagrangian relaxation of a bound of placements. Computation takes at least as long as each of
// many cuts (a path; the work between its two halves; the load of a weight's devices, or of those
// of two operators of a chain, between them), so at least as long as any mixture of them; and for a
// mixture, weights choose their degrees independently of each other.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "parallel/placement/bound_options.h"

namespace soapstone::parallel {

/// Operators whose part's time, load, work and delay (of the data that the operator reads) add up,
/// and what such an operator takes longer as a pair with the one before it in its chain.
struct Cut {
  std::vector<std::uint32_t> timed, loaded, worked, delayed, paired;
  auto operator<=>(const Cut&) const = default;
};

/// Least and most degree of each group, and devices of each operator of a chain.
struct DegreeRanges {
  using Range = std::pair<std::size_t, std::size_t>;
  std::vector<Range> groups;
  std::vector<Range> operators;  ///< By operator.
};

/// What operators choose, and what they take then.
struct RelaxedPoint {
  std::vector<BoundOption> takes;
  std::vector<double> delays, pairs;
  std::vector<std::size_t> degrees;  ///< Of groups.
  double sync = 0;
};

struct Relaxed {
  double least = 0;
  RelaxedPoint point;                           ///< Where the mixture is least.
  std::vector<std::pair<double, Cut>> mixture;  ///< Weights, heaviest first.
};

class Relaxation {
 public:
  explicit Relaxation(const BoundProblem& problem);

  /// The best of some rounds. Cuts that were found stay for the next call.
  Relaxed relax(const DegreeRanges& ranges, int rounds, double step);

 private:
  struct Weights {
    std::vector<double> time, load, work, delay, pair;
  };
  Weights mix(std::vector<double>& shares) const;
  double minimize(const DegreeRanges& ranges, const Weights& weights, RelaxedPoint& point) const;
  double minimize_group(std::size_t group, const std::pair<std::size_t, std::size_t>& range,
                        const Weights& weights, RelaxedPoint& point) const;
  double minimize_chain(const BoundChain& chain, const DegreeRanges& ranges, const Weights& weights,
                        RelaxedPoint& point) const;

  void separate(const RelaxedPoint& point);
  void find_paths(const RelaxedPoint& point);
  void add_path(const RelaxedPoint& point);
  void add_work(const RelaxedPoint& point);
  void add_loads(const RelaxedPoint& point);
  void add_pair(const RelaxedPoint& point);
  void follow_head(std::size_t op, Cut& cut) const;
  void follow_tail(std::size_t op, Cut& cut) const;
  void add(Cut cut);
  void reweigh(const RelaxedPoint& point, double step);

  const BoundProblem& problem_;
  std::vector<Cut> cuts_;
  std::vector<double> scores_;
  std::map<Cut, std::size_t> known_;
  std::vector<double> heads_, tails_;  ///< Before the start, after the end of operators.
  std::vector<std::size_t> head_from_, tail_to_;
};

}  // namespace soapstone::parallel
