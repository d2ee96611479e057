// See contradictions.h.
#include "cost/models/contradictions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <utility>

namespace soapstone::cost {
namespace {

/// `matmul(%0, %1) | %0: f32[4, 8] | …` without the sizes behind the first bar, and these. An
/// attribute stays: a stride is no size.
std::pair<std::string, std::vector<std::int64_t>> without_sizes(std::string_view signature) {
  std::string kind;
  std::vector<std::int64_t> sizes;
  bool is_type = false, is_shape = false;
  for (std::size_t k = 0; k < signature.size(); ++k) {
    const char c = signature[k];
    is_type = is_type || c == '|';
    is_shape = is_type && (is_shape ? c != ']' : c == '[');
    if (!is_shape || std::isdigit(static_cast<unsigned char>(c)) == 0) {
      kind += c;
      continue;
    }
    std::int64_t size = 0;
    const char* const begin = signature.data() + k;
    const auto [end, error] = std::from_chars(begin, signature.data() + signature.size(), size);
    k += static_cast<std::size_t>(end - begin) - 1;
    kind += size == 1 ? '1' : '#';
    if (size != 1) sizes.push_back(size);
  }
  return {std::move(kind), std::move(sizes)};
}

}  // namespace

KnownTimes::KnownTimes(const std::vector<CostDatabase::Entry>& known) {
  for (const CostDatabase::Entry& entry : known) note(entry.signature, entry.measurement.cost_us);
}

void KnownTimes::note(std::string_view signature, double cost_us) {
  auto [kind, sizes] = without_sizes(signature);
  kinds_[std::move(kind)].insert_or_assign(std::move(sizes), cost_us);
}

std::optional<double> KnownTimes::find(std::string_view signature) const {
  const auto [kind, sizes] = without_sizes(signature);
  const auto same = kinds_.find(kind);
  if (same == kinds_.end()) return std::nullopt;
  const auto at = same->second.find(sizes);
  return at == same->second.end() ? std::nullopt : std::optional(at->second);
}

std::optional<double> KnownTimes::least_of_larger(std::string_view signature) const {
  const auto [kind, sizes] = without_sizes(signature);
  std::optional<double> least;
  const auto same = kinds_.find(kind);
  if (same == kinds_.end()) return least;
  for (const auto& [others, us] : same->second) {
    if (others == sizes || !std::ranges::equal(others, sizes, std::greater_equal())) continue;
    least = std::min(least.value_or(us), us);
  }
  return least;
}

}  // namespace soapstone::cost
