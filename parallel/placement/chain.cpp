// See chain.h.
#include "parallel/placement/chain.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace soapstone::parallel {
namespace {

/// Proposals; each round is longer than the last.
constexpr std::uint64_t kShortestRound = 250, kLongestFirstRound = 20'000;
constexpr double kHot = 0.01, kCold = 0.0002;  ///< Temperatures, as shares of the time.
constexpr std::uint64_t kBetweenQuestions = 256;

}  // namespace

PlacementChain::PlacementChain(const PlacementProblem& problem, const CanonicalPlacements& ways,
                               const PlacementSearchOptions& options, std::uint64_t seed)
    : problem_(problem), ways_(ways), options_(options), random_(seed), simulator_(problem) {
  std::map<std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::uint32_t> kinds;
  for (std::size_t op = 0; op < problem.operators.size(); ++op) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> choices;
    for (std::size_t k = 0; k < problem.operators[op].configurations; ++k) {
      const Configuration& configuration = problem.configuration(op, k);
      choices.emplace_back(configuration.parts, configuration.pieces);
    }
    kind_.push_back(kinds.emplace(std::move(choices), kinds.size()).first->second);
  }
}

bool PlacementChain::is_over() {
  if (proposals_ % kBetweenQuestions == 0) was_told_ = was_told_ || options_.is_over();
  return was_told_ || proposals_ >= options_.proposals;
}

void PlacementChain::keep_if_best() {
  if (simulator_.time() >= best_time_) return;
  best_time_ = simulator_.time();
  best_ = simulator_.placement();
}

bool PlacementChain::attempt(Ticks limit) {
  ++proposals_;
  if (!simulator_.change(changes_, limit)) return false;
  keep_if_best();
  return true;
}

void PlacementChain::add(std::uint32_t op, std::uint16_t choice,
                         std::span<const std::uint8_t> devices) {
  changes_.push_back({op, choice, devices});
}

/// One operator; or a part of those that share its weight; or those that follow it.
void PlacementChain::choose_operators(std::uint32_t op) {
  range_.assign(1, op);
  const std::uint32_t group = problem_.operators[op].group;
  const std::size_t dice = random_.below(8);
  if (dice < 4 && group != kNoGroup && problem_.groups[group].members.size() > 1) {
    const auto& members = problem_.groups[group].members;
    const auto at = static_cast<std::size_t>(std::ranges::find(members, op) - members.begin());
    const std::size_t first = dice == 0 ? at : dice == 1 ? 0 : random_.below(at + 1);
    const std::size_t last = dice == 0   ? members.size() - 1
                             : dice == 1 ? at
                                         : at + random_.below(members.size() - at);
    range_.clear();
    for (std::size_t k = first; k <= last; ++k)
      if (are_alike(op, members[k])) range_.push_back(members[k]);
  } else if (dice < 6) {
    const std::size_t length = std::size_t{2} << random_.below(5);
    for (std::size_t k = op + 1; k < std::min(op + length, problem_.operators.size()); ++k)
      if (are_alike(op, static_cast<std::uint32_t>(k)))
        range_.push_back(static_cast<std::uint32_t>(k));
  }
}

std::uint16_t PlacementChain::choose_configuration(std::uint32_t op) {
  const std::uint16_t now = simulator_.placement().choice[op];
  if (random_.below(4) == 0) return now;
  return static_cast<std::uint16_t>(random_.below(problem_.operators[op].configurations));
}

/// An orderly way; the devices of another operator; or one part elsewhere.
void PlacementChain::choose_devices(std::uint32_t op, std::uint16_t choice) {
  const Placement& now = simulator_.placement();
  const PlacedOperator& placed = problem_.operators[op];
  const std::size_t parts = problem_.configuration(op, choice).parts;
  const std::uint8_t* const own = &now.device[placed.first_slot];
  const std::size_t dice = random_.below(8);
  if (dice == 0 && now.choice[op] == choice) {
    devices_.assign(own, own + parts);
    const std::size_t part = random_.below(parts), other = random_.below(parts);
    if (random_.below(2) == 0)
      std::swap(devices_[part], devices_[other]);
    else
      devices_[part] = static_cast<std::uint8_t>(random_.below(problem_.device_count));
    return;
  }
  if (dice == 1 && placed.inputs + placed.readers > 0) {
    const std::size_t k = random_.below(placed.inputs + placed.readers);
    const std::uint32_t neighbor =
        k < placed.inputs
            ? problem_.edges[problem_.input_edges[placed.first_input + k]].from
            : problem_.edges[problem_.reader_edges[placed.first_reader + k - placed.inputs]].to;
    const std::size_t theirs = problem_.configuration(neighbor, now.choice[neighbor]).parts;
    devices_.resize(parts);
    for (std::size_t part = 0; part < parts; ++part)
      devices_[part] = now.device[problem_.operators[neighbor].first_slot + part * theirs / parts];
    return;
  }
  const auto way = ways_.devices(op, choice, random_.below(ways_.count(op, choice)));
  devices_.assign(way.begin(), way.end());
}

void PlacementChain::propose() {
  const auto op = static_cast<std::uint32_t>(random_.below(problem_.operators.size()));
  const std::uint16_t choice = choose_configuration(op);
  choose_operators(op);
  choose_devices(op, choice);
  changes_.clear();
  for (const std::uint32_t each : range_) add(each, choice, devices_);
}

/// The threshold is drawn before the proposal is priced: exp((now − then)/t) > u if and only if
/// then < now − t·log(u).
void PlacementChain::anneal(std::uint64_t proposals, double hot, double cold) {
  const auto scale = static_cast<double>(best_time_);
  double temperature = 0;
  for (std::uint64_t k = 0; k < proposals && !is_over(); ++k) {
    if (k % kBetweenQuestions == 0) {
      const double share = static_cast<double>(k) / static_cast<double>(proposals);
      temperature = scale * hot * std::pow(cold / hot, share);
    }
    propose();
    const double allowed = -temperature * std::log(random_.unit());
    attempt(simulator_.time() + static_cast<Ticks>(allowed));
  }
}

/// Tries every choice and orderly way for this operator, and for it and those after it in its
/// group.
bool PlacementChain::descend_around(std::uint32_t op) {
  bool is_better = false;
  const std::uint32_t group = problem_.operators[op].group;
  const std::vector<std::uint32_t> alone = {op};
  const auto& members = group == kNoGroup ? alone : problem_.groups[group].members;
  const auto first = std::ranges::find(members, op);
  for (auto last = first; last != members.end() && are_alike(op, *last); ++last)
    for (std::uint16_t choice = 0; choice < problem_.operators[op].configurations; ++choice)
      for (std::size_t way = 0; way < ways_.count(op, choice) && !is_over(); ++way) {
        changes_.clear();
        for (auto each = first; each <= last; ++each)
          add(*each, choice, ways_.devices(op, choice, way));
        is_better = attempt(simulator_.time() - 1) || is_better;
      }
  return is_better;
}

void PlacementChain::descend() {
  for (bool is_better = true; is_better && !is_over();) {
    is_better = false;
    for (std::uint32_t op = 0; op < problem_.operators.size(); ++op)
      is_better = descend_around(op) || is_better;
  }
}

/// Every group of alike operators somewhere else, so that a chain does not depend on its start.
void PlacementChain::restart() {
  Placement placement = best_;
  for (const WeightGroup& group : problem_.groups) {
    const std::uint32_t op = group.members.front();
    const auto choice =
        static_cast<std::uint16_t>(random_.below(problem_.operators[op].configurations));
    const auto way = ways_.devices(op, choice, random_.below(ways_.count(op, choice)));
    for (const std::uint32_t member : group.members) {
      if (!are_alike(op, member)) continue;
      placement.choice[member] = choice;
      std::ranges::copy(way, placement.device.begin() + problem_.operators[member].first_slot);
    }
  }
  if (simulator_.full(placement) == std::numeric_limits<Ticks>::max()) simulator_.full(best_);
}

PlacementSearchResult PlacementChain::run(const Placement& start) {
  best_ = start;
  best_time_ = simulator_.full(start);
  std::uint64_t round = std::clamp(options_.proposals / 8, kShortestRound, kLongestFirstRound);
  for (int k = 0; !is_over(); ++k, round += round / 2) {
    if (k % 3 == 1)
      restart();
    else
      simulator_.full(best_);
    anneal(round, kHot, kCold);
    descend();
  }
  return {best_, best_time_, proposals_};
}

}  // namespace soapstone::parallel
