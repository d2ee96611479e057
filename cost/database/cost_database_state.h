// The state of a CostDatabase, for the two files that implement it. Private to cost/.
#pragma once

#include <filesystem>
#include <mutex>
#include <string_view>

#include "cost/database/cost_database.h"
#include "cost/database/sqlite.h"

namespace soapstone::cost {

struct CostDatabase::State {
  std::filesystem::path path;
  std::mutex mutex;  // for all that follows
  DatabaseHandle handle;
  Statement find, store;

  /// Writes one row. Precondition: the caller holds the mutex.
  core::Status put(std::string_view device, std::string_view signature,
                   const Measurement& measurement);
};

}  // namespace soapstone::cost
