// Messages between the processes of one job: they are started, and asked whether they are done.
// Collective operations stand on this, so that they know no MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace soapstone::parallel {

/// One that was started. Its memory stays as it is until it is done.
struct StartedMessage {
  int peer = 0;
  bool is_sent = false;  ///< Or received.
  std::size_t bytes = 0;
  std::uint64_t handle = 0;  ///< The messenger's.
};

/// Between two ranks, messages of one tag come in the order in which they are sent. A thread at a
/// time calls it, but for abort(). Errors: kUnavailable.
class Messenger {
 public:
  virtual ~Messenger() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int largest_tag() const = 0;

  /// Starts a message, or several if it is large, and appends them to `started`. Both ends know
  /// its size.
  virtual core::Status start_send(std::span<const std::byte> data, int to, int tag,
                                  std::vector<StartedMessage>& started) = 0;
  virtual core::Status start_receive(std::span<std::byte> data, int from, int tag,
                                     std::vector<StartedMessage>& started) = 0;
  /// Whether the message is done; it stays so. All messages go on meanwhile. Errors: also if it has
  /// another size at its other end.
  virtual core::Result<bool> test(StartedMessage& message) = 0;
  /// Nothing can be relied on any more: the end of this object must wait for no other rank.
  virtual void give_up() = 0;
  /// Says the reason, and ends all ranks with exit code 7; called from any thread.
  [[noreturn]] virtual void abort(const std::string& reason) = 0;
};

}  // namespace soapstone::parallel
