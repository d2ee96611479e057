// See nearest.h.
#include "core/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace soapstone::core {
namespace {

/// Levenshtein's distance: insertions, deletions and substitutions of bytes.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view given, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t fewest = given.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = edit_distance(given, candidate);
    if (edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  }
  return best;
}

}  // namespace soapstone::core
