// See kept_proofs.h. A value is a word that says the verdict, and why there is no proof.
#include "jobs/rules/kept_proofs.h"

#include <algorithm>
#include <span>

namespace soapstone::jobs {
namespace {

constexpr std::string_view kProvedForValues = "proved for these values",
                           kNotForValues = "not proved for these values: ";

std::string key_for_values(const rules::Rule& rule) { return ProofCache::key(std::span(&rule, 1)); }

}  // namespace

std::optional<std::string> KeptProofs::find(const rules::Rule& rule) const {
  const std::optional<std::string> value = cache_.find(key_for_values(rule));
  if (value == kProvedForValues) return "";
  if (value && value->starts_with(kNotForValues)) return value->substr(kNotForValues.size());
  return std::nullopt;
}

void KeptProofs::put(const rules::Rule& rule, const std::string& reason) {
  std::string line = reason;
  std::ranges::replace(line, '\n', ' ');
  cache_.put(key_for_values(rule),
             reason.empty() ? std::string(kProvedForValues) : std::string(kNotForValues) + line);
}

}  // namespace soapstone::jobs
