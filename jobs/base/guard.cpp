// See guard.h.
#include "jobs/base/guard.h"

#include <new>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "core/base/memory_limit.h"

namespace soapstone::jobs {
namespace {

bool says_lack(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return true;
  // More elements than any memory holds.
  if (dynamic_cast<const std::length_error*>(&exception) != nullptr) return true;
  const auto* const failure = dynamic_cast<const std::system_error*>(&exception);
  return failure != nullptr && (failure->code() == std::errc::not_enough_memory ||
                                failure->code() == std::errc::resource_unavailable_try_again);
}

}  // namespace

std::optional<core::Error> lack_of_memory(const std::exception& exception,
                                          const std::string& stage) {
  if (!says_lack(exception)) return std::nullopt;
  return core::unavailable(
      fmt::format("out of memory{}{}: {} are allowed", stage.empty() ? "" : " while ", stage,
                  core::memory_text(core::memory_limit())),
      "a larger `max_memory` allows more; else use a smaller model or another machine");
}

void StageKeeper::stage(std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    current_ = name;
  }
  next_.stage(name);
}

std::string StageKeeper::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace soapstone::jobs
