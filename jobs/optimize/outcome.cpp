// See outcome.h.
#include "jobs/optimize/outcome.h"

namespace soapstone::jobs {

std::vector<std::string> OptimizeOutcome::notes() const {
  std::vector<std::string> all = report.notes;
  all.insert(all.end(), run.notes.begin(), run.notes.end());
  return all;
}

std::string_view outcome_name(search::Outcome outcome) {
  switch (outcome) {
  case search::Outcome::kImproved:
    return "improved";
  case search::Outcome::kNoGainFound:
    return "no_gain_found";
  case search::Outcome::kGainNotReal:
    return "gain_not_real";
  case search::Outcome::kNotEquivalent:
    return "not_equivalent";
  case search::Outcome::kInterrupted:
    return "interrupted";
  }
  return "";
}

std::string_view result_name(search::ResultKind result) {
  switch (result) {
  case search::ResultKind::kOriginal:
    return "original";
  case search::ResultKind::kBaseline:
    return "baseline";
  case search::ResultKind::kRewritten:
    return "rewritten";
  }
  return "";
}

}  // namespace soapstone::jobs
