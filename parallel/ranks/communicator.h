// The interface through which the processes of one job talk to each other. It knows no MPI, so that
// code on top of it can be tested with threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace soapstone::parallel {

using Bytes = std::vector<std::byte>;

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// The bytes that every rank gave, by rank; sizes may differ. All ranks call it equally often,
  /// each from one thread at a time. Errors: kUnavailable; no further call makes sense then.
  virtual core::Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) = 0;
  /// Ends all ranks at once, with this exit code.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

}  // namespace soapstone::parallel
