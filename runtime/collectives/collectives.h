// Collective operations: what several devices that run one program do together on tensors. Each has
// an object for itself, a rank. All ranks make the same calls in the same order.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/graph/tensor_type.h"
#include "runtime/device/device_memory.h"

namespace soapstone::runtime {

enum class Reduction : std::uint8_t { kSum, kMax, kMin };

/// Elements of one type in the memory of a rank. `count` is that of one rank's part where ranks
/// contribute parts.
struct Elements {
  DeviceAddress address;
  std::int64_t count = 0;
  core::DataType type = core::DataType::kFloat32;
};

/// Calls are enqueued on the queue that the object was made for, behind what is there, and may
/// return before they are done. They write `to`, which may be `from` where both are of one size.
/// Errors: kInvalidInput for a rank that does not exist; kUnsupported for a type that the device
/// cannot reduce; kUnavailable if ranks failed, did not come in time or asked for something else:
/// then nothing further works, for any rank.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Every rank gets the reduction of all `from`. Ranks add in one order, so all get the same.
  virtual core::Status all_reduce(const Elements& from, DeviceAddress to, Reduction reduction) = 0;
  /// `from` has size() parts of `part.count` elements; rank r gets the reduction of all parts r.
  virtual core::Status reduce_scatter(DeviceAddress from, const Elements& part,
                                      Reduction reduction) = 0;
  /// `to` has size() parts: those of all ranks, by rank.
  virtual core::Status all_gather(const Elements& part, DeviceAddress to) = 0;
  virtual core::Status broadcast(const Elements& data, int root) = 0;
  /// `from` and `to` have size() parts of `part.count` elements: part r goes to rank r.
  virtual core::Status all_to_all(DeviceAddress from, const Elements& part) = 0;
  /// A message from one rank to another. Several in both directions belong into a group.
  virtual core::Status send(const Elements& data, int to) = 0;
  virtual core::Status receive(const Elements& data, int from) = 0;
  /// What is called in between starts together at end_group(), so that no order of messages can
  /// block. Groups do not nest.
  virtual core::Status begin_group() = 0;
  virtual core::Status end_group() = 0;

  /// Waits for all that was enqueued. Errors: kUnavailable, also if it takes longer than the time
  /// that the ranks agreed upon.
  virtual core::Status wait() = 0;
  /// Ends what waits on any rank, with this reason; called from any thread.
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace soapstone::runtime
