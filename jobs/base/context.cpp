// See context.h.
#include "jobs/base/context.h"

namespace soapstone::jobs {

const core::StopToken& never() {
  static const core::StopToken token;
  return token;
}

core::Status Context::check_interrupt() const {
  if (!stop.stop_requested()) return core::Done{};
  return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
}

}  // namespace soapstone::jobs
