// Keeps verdicts on rules of the user's own between runs: a file of one entry each in
// $XDG_CACHE_HOME/soapstone/proofs, or ~/.cache/soapstone/proofs. Anyone who can write there could
// make a wrong rule count as proved, so folder and entries must belong to the user alone.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "core/base/progress.h"
#include "rules/rule/rule.h"

namespace soapstone::jobs {

class ProofCache {
 public:
  /// Makes the folder where it is missing. Where it cannot be used the log says why, and nothing is
  /// ever found.
  explicit ProofCache(core::ProgressSink& log);

  /// The key of a rule: a digest of the text of all its instances and of what would prove them (the
  /// versions of the prover and of Z3, and this very program).
  static std::string key(std::span<const rules::Rule> instances);

  /// None: there is no entry, or one that is damaged or not the user's own, which the log tells.
  std::optional<std::string> find(const std::string& key) const;
  /// Writes an entry as a whole or not at all. A failure does not concern the caller: the entry
  /// will be missing.
  void put(const std::string& key, const std::string& value) const;

 private:
  core::ProgressSink& log_;
  std::filesystem::path folder_;  ///< Empty: unusable.
};

}  // namespace soapstone::jobs
