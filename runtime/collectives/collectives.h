// Collective operations: what several devices that run one program do together on tensors. Each has
// an object for itself, a rank. All ranks make the same calls in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/graph/tensor_type.h"
#include "runtime/collectives/reduction.h"
#include "runtime/device/device_memory.h"

namespace soapstone::runtime {

/// Elements of one type in the memory of a rank. `count` is that of one rank's part where ranks
/// contribute parts.
struct Elements {
  DeviceAddress address;
  std::int64_t count = 0;
  core::DataType type = core::DataType::kFloat32;
};

/// Calls are enqueued on the queue that the object was made for, behind what is there, and may
/// return before they are done; without a queue, on the host, all but send() are done when they
/// return, and those in a group when end_group() does. They write `to`, which may be `from` where
/// both are of one size. One thread at a time calls an object and its subsets.
/// Errors: kInvalidInput for a rank that does not exist; kUnsupported for a type that the device
/// cannot reduce; kUnavailable if ranks failed, did not come in time or asked for something else:
/// then nothing further works, for any rank, and the memory that calls were given may still be
/// written.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Every rank gets the reduction of all `from`. On the host ranks are reduced in their order
  /// (reduction.h), so that virtual ranks and processes agree bit for bit; elsewhere in one order,
  /// so that all get the same.
  virtual core::Status all_reduce(const Elements& from, DeviceAddress to, Reduction reduction) = 0;
  /// `from` has size() parts of `part.count` elements; rank r gets the reduction of all parts r.
  virtual core::Status reduce_scatter(DeviceAddress from, const Elements& part,
                                      Reduction reduction) = 0;
  /// `to` has size() parts: those of all ranks, by rank.
  virtual core::Status all_gather(const Elements& part, DeviceAddress to) = 0;
  virtual core::Status broadcast(const Elements& data, int root) = 0;
  /// `from` and `to` have size() parts of `part.count` elements: part r goes to rank r.
  virtual core::Status all_to_all(DeviceAddress from, const Elements& part) = 0;
  /// A message from one rank to another. It may return before the message is taken: the data must
  /// stay as they are until wait(). On the host no send waits for its receive; on a queue, messages
  /// in both directions belong into a group. Between two ranks messages come in the order in which
  /// they are sent.
  virtual core::Status send(const Elements& data, int to) = 0;
  virtual core::Status receive(const Elements& data, int from) = 0;
  /// Calls in between start together, at end_group() at the latest, so that no order of
  /// messages can block. Groups do not nest.
  virtual core::Status begin_group() = 0;
  virtual core::Status end_group() = 0;

  /// The same for some of the ranks, ascending, of which this one is one. All of them call it, in
  /// one order with their other calls, outside of groups. Ranks of the result are places in
  /// `ranks`; errors name ranks of the first object. It must not outlive this object. What fails,
  /// or is aborted, here or there, fails in both; a rank whose subset is destroyed ends the waits
  /// of the others in it.
  /// Errors: kInvalidInput if `ranks` are not as said; else as above.
  virtual core::Result<std::unique_ptr<Collectives>> subset(std::span<const int> ranks) = 0;

  /// Waits for all that was enqueued. Errors: kUnavailable, also if it takes longer than the time
  /// that the ranks agreed upon.
  virtual core::Status wait() = 0;
  /// Ends what waits on any rank, with this reason; called from any thread.
  virtual void abort(const std::string& reason) = 0;
};

/// Whether `ranks` can be a subset that `rank` is in, of `size` ranks. Errors: kInvalidInput.
core::Status check_subset(std::span<const int> ranks, int rank, int size);

}  // namespace soapstone::runtime
