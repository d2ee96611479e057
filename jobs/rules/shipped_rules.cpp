// See shipped_rules.h.
#include "jobs/rules/shipped_rules.h"

#include <algorithm>

#include "core/base/sha256.h"

namespace soapstone::jobs {

bool is_shipped(std::string_view file_text) {
  return std::ranges::find(shipped_digests(), core::sha256(file_text)) != shipped_digests().end();
}

}  // namespace soapstone::jobs
