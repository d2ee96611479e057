// NCCL, found at run time. Functions are values, so that tests can make any of them fail.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace soapstone::gpu {

/// What ranks that will talk to each other have in common: one of them makes it, and the others get
/// its bytes by other means.
struct NcclId {
  std::array<char, 128> bytes{};
};

/// Beginning of a communicator's settings as of NCCL 2.18, which later versions read as well.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = 0;  ///< Calls return at once, and errors can be asked for.
  int cluster_size = kUndefined, least_blocks = kUndefined, most_blocks = kUndefined;
  const char* network = nullptr;
  int shares_when_split = kUndefined;

  static constexpr int kUndefined = static_cast<int>(0x80000000U);
};

/// The functions of NCCL. Results are those of the library. A communicator, a stream and types are
/// as NCCL numbers them.
struct Nccl {
  static constexpr int kSuccess = 0, kInvalidArgument = 4, kInvalidUsage = 5, kInProgress = 7;

  std::function<int(int*)> version;
  std::function<const char*(int)> error_text;
  std::function<int(NcclId*)> make_id;
  std::function<int(void**, int, NcclId, int, NcclConfig*)> init_rank;  ///< Ranks, id, rank.
  std::function<int(void*, int*)> async_error;
  std::function<int(void*)> finalize, destroy, abort;

  /// From, to, count, type, reduction, communicator, stream.
  std::function<int(const void*, void*, std::size_t, int, int, void*, void*)> all_reduce,
      reduce_scatter;
  std::function<int(const void*, void*, std::size_t, int, void*, void*)> all_gather;
  /// From, to, count, type, root, communicator, stream.
  std::function<int(const void*, void*, std::size_t, int, int, void*, void*)> broadcast;
  /// Data, count, type, peer, communicator, stream.
  std::function<int(const void*, std::size_t, int, int, void*, void*)> send;
  std::function<int(void*, std::size_t, int, int, void*, void*)> receive;
  std::function<int()> begin_group, end_group;
};

/// Errors: kUnavailable if the library is not there or lacks a function.
core::Result<std::shared_ptr<const Nccl>> load_nccl(const std::string& library = "libnccl.so.2");

/// Errors: kUnavailable.
core::Result<NcclId> make_nccl_id(const Nccl& nccl);

}  // namespace soapstone::gpu
