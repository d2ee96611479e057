// Sums of summands: like ones added up, all of them scaled.
#include "verifier/forms/summand.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "verifier/forms/arena.h"

namespace soapstone::verifier {

NormalForm collected(NormalForm summands) {
  NormalForm result;
  std::unordered_multimap<std::uint64_t, std::size_t> seen;
  for (Summand& summand : summands) {
    const Fraction coefficient = summand.coefficient;
    summand.coefficient = 1;
    const std::uint64_t hash = Arena::hash(summand);
    const auto [first, last] = seen.equal_range(hash);
    const auto like = std::find_if(first, last, [&](const auto& entry) {
      Summand other = result[entry.second];
      other.coefficient = 1;
      return other == summand;
    });
    if (like != last) {
      Fraction& total = result[like->second].coefficient;
      total = total + coefficient;
      continue;
    }
    summand.coefficient = coefficient;
    seen.emplace(hash, result.size());
    result.push_back(std::move(summand));
  }
  std::erase_if(result, [](const Summand& summand) { return summand.coefficient.is_zero(); });
  return result;
}

NormalForm scaled(NormalForm summands, const Fraction& factor) {
  for (Summand& summand : summands) summand.coefficient = summand.coefficient * factor;
  return summands;
}

}  // namespace soapstone::verifier
