// Ranks that fail together: an error of one reaches all in their next exchange, and ends the job on
// all with the same message.
#pragma once

#include <optional>

#include "parallel/ranks/gather_bytes.h"

namespace soapstone::parallel {

class Ranks {
 public:
  explicit Ranks(runtime::Collectives& collectives) : collectives_(collectives) {}

  std::size_t rank() const { return static_cast<std::size_t>(collectives_.rank()); }
  std::size_t size() const { return static_cast<std::size_t>(collectives_.size()); }
  /// For all that is not said by the functions below; errors of it are the caller's.
  runtime::Collectives& collectives() const { return collectives_; }

  /// The bytes that every rank gave, by rank. All ranks call all_gather() and agree() in the same
  /// order, but for one that fails: it gives its error in place of whatever comes next. Errors: all
  /// ranks get the error of the first rank that gave one. Its `where` says which rank that was,
  /// except for rank 0 and if all gave the same. After an error, later calls return the same one
  /// and send nothing.
  core::Result<std::vector<Bytes>> all_gather(core::Result<Bytes> mine);

  /// Done if all ranks are.
  core::Status agree(const core::Status& mine);

  /// Communication itself has failed: the others may not know of it, and wait.
  bool is_broken() const { return is_broken_; }

 private:
  runtime::Collectives& collectives_;
  std::optional<core::Error> over_;
  bool is_broken_ = false;
};

}  // namespace soapstone::parallel
