// One Markov chain of a search for placements.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "parallel/placement/canonical.h"
#include "parallel/placement/search.h"
#include "parallel/simulation/simulator.h"

namespace soapstone::parallel {

/// The same numbers on every machine (G. Steele et al., "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>((next() >> 32) * static_cast<std::uint64_t>(bound) >> 32);
  }
  /// Above 0, at most 1.
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

class PlacementChain {
 public:
  /// `ways` and `problem` must outlive this.
  PlacementChain(const PlacementProblem& problem, const CanonicalPlacements& ways,
                 const PlacementSearchOptions& options, std::uint64_t seed);

  PlacementSearchResult run(const Placement& start);

 private:
  enum class Reach : std::uint8_t { kOne, kGroup, kRun };

  bool is_over();
  void anneal(std::uint64_t proposals, double hot, double cold);
  void descend();
  bool descend_around(std::uint32_t op);
  void restart();
  void propose();
  void choose_operators(std::uint32_t op);
  std::uint16_t choose_configuration(std::uint32_t op);
  void choose_devices(std::uint32_t op, std::uint16_t choice);
  bool are_alike(std::uint32_t a, std::uint32_t b) const { return kind_[a] == kind_[b]; }
  void add(std::uint32_t op, std::uint16_t choice, std::span<const std::uint8_t> devices);
  bool attempt(Ticks limit);
  void keep_if_best();

  const PlacementProblem& problem_;
  const CanonicalPlacements& ways_;
  const PlacementSearchOptions& options_;
  SplitMix random_;
  Simulator simulator_;
  std::vector<std::uint32_t> kind_;    ///< Of operators: alike ones have like choices.
  std::vector<std::uint32_t> range_;   ///< Operators of the next proposal.
  std::vector<std::uint8_t> devices_;  ///< The devices that it gives to each.
  std::vector<PlacementChange> changes_;
  Placement best_;
  Ticks best_time_ = 0;
  std::uint64_t proposals_ = 0;
  bool was_told_ = false;
};

}  // namespace soapstone::parallel
