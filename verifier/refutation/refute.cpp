// See refute.h. Doubles at small integers decide: sums, products, maxima and relu are exact there,
// and functions are themselves, not random maps as in a finite field.
#include "verifier/refutation/refute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "rules/floats/typed_check.h"
#include "rules/rule/typing.h"
#include "rules/sampling/sample_sizes.h"
#include "verifier/refutation/replay.h"
#include "verifier/refutation/sides_at_sizes.h"
#include "verifier/refutation/typed_refutation.h"

namespace soapstone::verifier {
namespace {

using core::Symbol;
using rules::Bindings;

/// Draws of sizes that may fail: at first, and for each that did not.
constexpr int kFirstAttempts = 400, kRealAttemptsPerSize = 50;

/// Sizes, inputs, and where the sides differ.
struct Counterexample {
  Bindings sizes;
  std::shared_ptr<const SidesAtSizes> sides;
  InputValues inputs;
  Draw draw = Draw::kIntegers;  ///< How the inputs were drawn.
  Difference difference;
  bool is_finite() const {
    return std::isfinite(difference.source) && std::isfinite(difference.target);
  }
};

class Search {
 public:
  Search(const rules::Rule& rule, std::uint64_t seed)
      : rule_(rule), sampler_(rule), random_(seed) {}

  /// Every size sees integers and reals, some also what is special to functions.
  std::optional<Counterexample> find(int size_count) {
    int tried = 0;
    for (int attempt = 0;
         tried < size_count && attempt < kFirstAttempts + kRealAttemptsPerSize * tried; ++attempt) {
      const Bindings sizes = draw_sizes(attempt);
      const auto sides = sides_at(sizes);
      if (!sides) continue;
      std::vector<Draw> draws = {Draw::kIntegers, Draw::kReals};
      if (tried % 4 == 0) draws.push_back(Draw::kPositive);
      if (tried % 4 == 1) draws.push_back(Draw::kLarge);
      if (tried % 4 == 2) draws.push_back(Draw::kNegative);
      if (auto witness = look(sizes, sides, draws)) return witness;
      ++tried;
    }
    return std::nullopt;
  }

  /// The source has a value at small integers, 0 among them, and the target has none.
  std::optional<Counterexample> find_missing(int size_count) {
    for (int attempt = 0; attempt < size_count; ++attempt) {
      const Bindings sizes = draw_sizes(attempt);
      const auto sides = sides_at(sizes);
      if (!sides) continue;
      InputValues inputs = sides->draw(Draw::kIntegers, random_);
      const auto found = sides->compare(inputs, true);
      if (!found || !std::isfinite(found->source) || std::isfinite(found->target)) continue;
      if (!sides->is_certain(inputs, *found)) continue;
      return Counterexample{sizes, sides, std::move(inputs), Draw::kIntegers, *found};
    }
    return std::nullopt;
  }

  void shrink_sizes(Counterexample& witness) {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t s = 0; s < witness.sizes.size(); ++s)
        for (const std::int64_t size : smaller_than(witness.sizes[s].value_or(1))) {
          if (!try_size(witness, Symbol{static_cast<std::uint32_t>(s)}, size)) continue;
          progress = true;
          break;
        }
    }
  }

  static void shrink_values(Counterexample& witness) {
    if (!witness.is_finite()) return;
    for (std::size_t k = 0; k < witness.inputs.size(); ++k)
      clear(witness, k, 0, witness.inputs[k].size());
    for (std::size_t k = 0; k < witness.inputs.size(); ++k)
      for (std::size_t i = 0; i < witness.inputs[k].size(); ++i)
        for (const double simpler : {1.0, -1.0, std::round(witness.inputs[k][i])})
          if (witness.inputs[k][i] != 0 && set(witness, k, i, i + 1, simpler)) break;
  }

 private:
  /// Small first; then some symbols are stretched, others each time.
  Bindings draw_sizes(int attempt) {
    constexpr std::array<std::int64_t, 8> kLargest = {3, 2, 5, 7, 3, 4, 1, 7};
    constexpr std::int64_t kSmall = 3;
    const std::int64_t largest = kLargest[static_cast<std::size_t>(attempt) % kLargest.size()];
    Bindings sizes = sampler_.draw(random_, std::min(largest, kSmall));
    if (largest <= kSmall || sizes.empty()) return sizes;
    const Bindings large = sampler_.draw(random_, largest),
                   larger = sampler_.draw(random_, largest);
    const std::size_t always = random_.next() % sizes.size();
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      if (!sizes[s] || (s != always && random_.between(0, 2) != 0)) continue;
      sizes[s] = std::max(large[s], larger[s]);
      sampler_.repair(sizes, Symbol{static_cast<std::uint32_t>(s)}, random_);
    }
    return sizes;
  }

  std::shared_ptr<const SidesAtSizes> sides_at(const Bindings& sizes) const {
    if (!sampler_.admits(sizes)) return nullptr;
    auto sides = SidesAtSizes::make(rule_, sizes);
    return sides ? std::make_shared<const SidesAtSizes>(*std::move(sides)) : nullptr;
  }

  std::optional<Counterexample> look(const Bindings& sizes,
                                     const std::shared_ptr<const SidesAtSizes>& sides,
                                     const std::vector<Draw>& draws) {
    for (const Draw draw : draws) {
      InputValues inputs = sides->draw(draw, random_);
      const bool missing_counts =
          draw == Draw::kReals || draw == Draw::kPositive || draw == Draw::kNegative;
      const auto found = sides->compare(inputs, missing_counts);
      if (found && sides->is_certain(inputs, *found))
        return Counterexample{sizes, sides, std::move(inputs), draw, *found};
    }
    return std::nullopt;
  }

  static std::vector<std::int64_t> smaller_than(std::int64_t size) {
    if (size <= 1) return {};
    if (size == 2) return {1};
    return {1, size / 2, size - 1};
  }

  bool try_size(Counterexample& witness, Symbol symbol, std::int64_t size) {
    Bindings sizes = witness.sizes;
    sizes[symbol.id] = size;
    sampler_.repair(sizes, symbol, random_);
    std::int64_t before = 0, after = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      before += witness.sizes[s].value_or(0);
      after += sizes[s].value_or(0);
    }
    if (after >= before) return false;
    const auto sides = sides_at(sizes);
    if (!sides) return false;
    auto smaller =
        look(sizes, sides, {Draw::kIntegers, witness.draw, Draw::kIntegers, witness.draw});
    if (!smaller || (witness.is_finite() && !smaller->is_finite())) return false;
    witness = *std::move(smaller);
    return true;
  }

  /// Whether the sides still differ with these elements set to `value`; then they stay so.
  static bool set(Counterexample& witness, std::size_t input, std::size_t first, std::size_t last,
                  double value) {
    std::vector<double>& all = witness.inputs[input];
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(last);
    if (std::all_of(begin, end, [&](double v) { return v == value; })) return true;
    const std::vector<double> before(begin, end);
    std::fill(begin, end, value);
    if (const auto found = witness.sides->compare(witness.inputs, false)) {
      witness.difference = *found;
      return true;
    }
    std::copy(before.begin(), before.end(), begin);
    return false;
  }

  /// Sets as many elements as possible to 0: all, else each half for itself.
  static void clear(Counterexample& witness, std::size_t input, std::size_t first,
                    std::size_t last) {
    if (first == last || set(witness, input, first, last, 0) || last - first == 1) return;
    const std::size_t middle = first + (last - first) / 2;
    clear(witness, input, first, middle);
    clear(witness, input, middle, last);
  }

  const rules::Rule& rule_;
  rules::SizeSampler sampler_;
  rules::Random random_;
};

std::vector<std::pair<std::string, std::int64_t>> named_sizes(const rules::Rule& rule,
                                                              const Bindings& values) {
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  for (std::size_t s = 0; s < values.size(); ++s)
    if (values[s])
      sizes.emplace_back(rule.source.symbols().name(Symbol{static_cast<std::uint32_t>(s)}),
                         *values[s]);
  return sizes;
}

}  // namespace

std::optional<Refutation> refute(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  if (rules::needs_types(rule)) return refute_by_types(rule, size_count, seed);
  Search search(rule, seed);
  auto witness = search.find(size_count);
  if (!witness) return std::nullopt;
  const Counterexample first = *witness;
  Counterexample small = *witness;
  search.shrink_sizes(small);
  Search::shrink_values(small);
  for (const Counterexample* each : {&small, &*witness}) {
    if (!each->sides->is_certain(each->inputs, each->difference)) continue;
    if (auto found =
            replay(*each->sides, each->inputs, each->difference, named_sizes(rule, each->sizes)))
      return found;
  }
  return std::nullopt;
}

std::optional<Refutation> refute_values(const rules::Rule& rule, int size_count,
                                        std::uint64_t seed) {
  const auto witness = Search(rule, seed).find_missing(size_count);
  if (!witness) return std::nullopt;
  return replay(*witness->sides, witness->inputs, witness->difference,
                named_sizes(rule, witness->sizes));
}

std::optional<Refutation> refute_shapes(const rules::Rule& rule, std::uint64_t seed) {
  constexpr int kAttempts = 200;
  rules::Rule unguarded = rule;
  const auto about_shapes = [](const ops::SizeConstraint& c) {
    return c.label == "rule.result_shape";
  };
  if (std::erase_if(unguarded.guard, about_shapes) == 0) return std::nullopt;
  const rules::SizeSampler sampler(unguarded);
  rules::Random random(seed);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Bindings sizes = sampler.draw(random, 2 + attempt / 50);
    rules::TypingFailure failure;
    if (!sampler.admits(sizes)) continue;
    const auto typed = rules::type_sides(rule.source, rule.target, sizes, &failure);
    if (typed || failure.node.valid()) continue;
    Refutation refutation;
    refutation.sizes = named_sizes(rule, sizes);
    refutation.text = sizes_text(refutation.sizes) + typed.error().message;
    return refutation;
  }
  return std::nullopt;
}

bool is_refuted(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  if (rules::needs_types(rule)) return is_refuted_by_types(rule, size_count, seed);
  return Search(rule, seed).find(size_count).has_value();
}

}  // namespace soapstone::verifier
