// The class of a term, whatever its variables are called: the hash of its values in all worlds,
// under an arrangement of the variables that does not depend on their names. mark(v) is the hash of
// the term's values in world 0, the smallest, when every variable but v is given the same tensor.
// Marks give the variables of one group an order. If marks are equal, the arrangement with the
// smallest hash is taken.
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "generator/terms/extension.h"

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
std::uint32_t Fingerprinter<T>::mark_variables(Values& values_at, const Variants& variants,
                                               const Fingerprint& alike) {
  const std::size_t count = variants.variable_count();
  std::uint32_t mask = 0, doubtful = 0;
  for (std::size_t k = 0; k < count; ++k) {
    // The only one of its group: it can only be the first.
    const bool alone = variants.is_alone(k);
    if (!alone) marks_[k] = hash_of(values_at(0, variants.all_alike_but(k)));
    const bool unmarked = !alone && marks_[k] == alike;
    mask |= std::uint32_t{!unmarked} << k;
    doubtful += unmarked;
  }
  if (doubtful < 2) return mask;
  // Which of the doubtful variables have influence? a·(b − c) is 0 if all are given the same
  // tensor.
  const Fingerprint different = hash_of(values_at(0, 0));
  for (std::size_t k = 0; k < count; ++k)
    if ((mask >> k & 1u) == 0 && hash_of(values_at(0, variants.replaced(k))) != different)
      mask |= 1u << k;
  return mask;
}

template <class T>
bool Fingerprinter<T>::follows_marks(const Variants& variants, std::uint32_t mask,
                                     Renaming slots) const {
  for (std::size_t k = 1; k < variants.variable_count(); ++k)
    for (std::size_t l = k; l-- > 0 && variants.group(l) == variants.group(k);)
      if ((mask >> k & mask >> l & 1u) != 0 && marks_[k] != marks_[l] &&
          (slots.of(k) < slots.of(l)) != (marks_[k] < marks_[l]))
        return false;
  return true;
}

template <class T>
template <class Values>
void Fingerprinter<T>::smallest(Values&& values_at, TypeIndex result_type, const Variants& variants,
                                EvaluatedTerm& candidate) {
  const Fingerprint alike = hash_of(values_at(0, variants.alike()));
  tied_.assign(1, 0);
  if (!variants.are_all_alone()) {
    const std::uint32_t mask = mark_variables(values_at, variants, alike);
    tied_.clear();
    for (std::uint16_t v : variants.arrangements(mask))
      if (follows_marks(variants, mask, variants.slots(v))) tied_.push_back(v);
  }
  const auto hash_at = [&](std::size_t world, std::uint16_t v) {
    if (world > 0) return hash_of(values_at(world, v));
    if (v == variants.alike()) return alike;
    for (std::size_t k = 0; k < variants.variable_count(); ++k)
      if (v == variants.all_alike_but(k) && !variants.is_alone(k)) return marks_[k];
    return hash_of(values_at(world, v));
  };
  const std::uint64_t first[3] = {result_type, alike.low, alike.high};
  Fingerprint total = hash_of(first);
  for (std::size_t w = 0; w < worlds_; ++w) {
    Fingerprint best{~std::uint64_t{0}, ~std::uint64_t{0}};
    still_tied_.clear();
    for (std::uint16_t v : tied_) {
      const Fingerprint f = hash_at(w, v);
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
                           const ValueType& type, EvaluatedTerm& candidate, LazyValues<T>* lazy,
                           std::size_t lazy_position) {
  std::array<std::span<const T>, kMostChildren> inputs;
  const auto values_at = [&](std::size_t world, std::size_t variant) {
    if (lazy != nullptr) lazy->need(world, to_child[lazy_position][variant]);
    for (std::size_t k = 0; k < operands.size(); ++k)
      inputs[k] = operands[k].at(world, to_child[k][variant]);
    buffer_.resize(type.elements[world]);
    const std::span<T> output(buffer_);
    compiled<T>(application, world)
        .compute(std::span(inputs.data(), operands.size()), std::span(&output, 1));
    return std::span<const T>(buffer_);
  };
  smallest(values_at, application.result, variants, candidate);
}

template <class T>
void Fingerprinter<T>::run(const ValueView<T>& values, TypeIndex result_type,
                           const Variants& variants, EvaluatedTerm& candidate,
                           LazyValues<T>* lazy) {
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
