// Proofs of rules for the values of a match, kept between runs in the folder of ProofCache.
#pragma once

#include <optional>
#include <string>

#include "jobs/rules/proof_cache.h"
#include "verifier/admission.h"

namespace soapstone::jobs {

class KeptProofs final : public verifier::ProofMemory {
 public:
  explicit KeptProofs(core::ProgressSink& log) : cache_(log) {}

  std::optional<std::string> find(const rules::Rule& rule) const override;
  void put(const rules::Rule& rule, const std::string& reason) override;

 private:
  ProofCache cache_;
};

}  // namespace soapstone::jobs
