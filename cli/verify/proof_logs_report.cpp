// See proof_logs_report.h.
#include "cli/verify/proof_logs_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"

namespace soapstone::cli {

std::string checked_logs_text(const jobs::CheckedLogs& checked) {
  return fmt::format("{} proofs in {} logs hold\n", checked.proofs, checked.logs);
}

std::string checked_logs_json(const jobs::CheckedLogs& checked) {
  return json_text({{"logs", checked.logs}, {"proofs", checked.proofs}});
}

}  // namespace soapstone::cli
