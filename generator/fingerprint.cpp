// The class of a term, whatever its variables are called: the smallest hash of its values over all
// variants. All variants are tried in the smallest world; the others only decide ties.
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "generator/extension.h"

namespace soapstone::generator {
namespace {

Fingerprint hash_of(std::span<const std::uint64_t> values) {
  const XXH128_hash_t hash = XXH3_128bits(values.data(), values.size_bytes());
  return {hash.low64, hash.high64};
}

/// Doubles are compared as the nearest multiples of 2^-20, or with 20 bits where they are large.
/// A value that is no number, or too large to be trusted, makes the term equal to nothing.
Fingerprint hash_of(std::span<const double> values) {
  thread_local std::vector<std::int64_t> rounded;
  rounded.clear();
  for (double v : values) {
    if (!(std::fabs(v) < 1e9)) return {};
    const double scale = std::fabs(v) < 1 ? 0x1p20 : std::ldexp(0x1p20, -std::ilogb(v));
    rounded.push_back(std::llround(v * scale));
    rounded.push_back(std::fabs(v) < 1 ? 0 : std::ilogb(std::round(v * scale) / scale));
  }
  const XXH128_hash_t hash = XXH3_128bits(rounded.data(), rounded.size() * sizeof(rounded[0]));
  return {hash.low64, hash.high64 | 1};
}

}  // namespace

template <class T>
template <class Values>
void Fingerprinter<T>::smallest(Values&& values_at, TypeId result_type, const Variants& variants,
                                Candidate& candidate) {
  const Fingerprint as_it_is = hash_of(values_at(0, 0));
  std::uint32_t mask = 0;
  for (std::size_t k = 0; k < variants.variable_count(); ++k)
    if (hash_of(values_at(0, variants.replaced(k))) != as_it_is) mask |= 1u << k;
  const auto arrangements = variants.arrangements(mask);
  tied_.assign(arrangements.begin(), arrangements.end());
  Fingerprint total{result_type, 0};
  for (std::size_t w = 0; w < worlds_; ++w) {
    Fingerprint best{~std::uint64_t{0}, ~std::uint64_t{0}};
    still_tied_.clear();
    for (std::uint16_t v : tied_) {
      const Fingerprint f = w == 0 && v == 0 ? as_it_is : hash_of(values_at(w, v));
      if (f < best) {
        best = f;
        still_tied_.clear();
      }
      if (f == best) still_tied_.push_back(v);
    }
    std::swap(tied_, still_tied_);
    if (best == Fingerprint{}) {
      total = {};
      break;
    }
    const std::uint64_t both[4] = {total.low, total.high, best.low, best.high};
    total = hash_of(both);
  }
  candidate.variant = tied_.front();
  candidate.symmetric = tied_.size() > 1;
  candidate.term.fingerprint = total;
}

template <class T>
void Fingerprinter<T>::run(const Application& application, std::span<const ValueView<T>> operands,
                           std::span<const std::uint16_t* const> to_child, const Variants& variants,
                           const ValueType& type, Candidate& candidate, LazyValues<T>* lazy,
                           std::size_t lazy_position) {
  std::array<std::span<const T>, kMostChildren> inputs;
  const auto values_at = [&](std::size_t world, std::size_t variant) {
    if (lazy != nullptr) lazy->need(world, to_child[lazy_position][variant]);
    for (std::size_t k = 0; k < operands.size(); ++k)
      inputs[k] = operands[k].at(world, to_child[k][variant]);
    buffer_.resize(type.elements[world]);
    const std::span<T> output(buffer_);
    compiled<T>(application, world)
        .run(std::span(inputs.data(), operands.size()), std::span(&output, 1));
    return std::span<const T>(buffer_);
  };
  smallest(values_at, application.result, variants, candidate);
}

template <class T>
void Fingerprinter<T>::run(const ValueView<T>& values, TypeId result_type, const Variants& variants,
                           Candidate& candidate, LazyValues<T>* lazy) {
  const auto values_at = [&](std::size_t world, std::size_t variant) {
    if (lazy != nullptr) lazy->need(world, variant);
    return values.at(world, variant);
  };
  smallest(values_at, result_type, variants, candidate);
}

template <class T>
Symmetries symmetries_of(const ValueView<T>& values, std::size_t worlds, const Variants& variants,
                         LazyValues<T>* lazy) {
  // Variant 0 puts variable k into slot k.
  Symmetries result;
  const std::uint32_t all = (1u << variants.variable_count()) - 1;
  for (std::uint16_t v : variants.arrangements(all)) {
    bool same = v != 0;
    for (std::size_t w = 0; w < worlds && same; ++w) {
      if (lazy != nullptr) {
        lazy->need(w, 0);
        lazy->need(w, v);
      }
      same = std::ranges::equal(values.at(w, 0), values.at(w, v));
    }
    if (same) result.push_back(variants.slots(v));
  }
  return result;
}

template Symmetries symmetries_of(const ValueView<std::uint64_t>&, std::size_t, const Variants&,
                                  LazyValues<std::uint64_t>*);
template class Fingerprinter<std::uint64_t>;
template class Fingerprinter<double>;

}  // namespace soapstone::generator
