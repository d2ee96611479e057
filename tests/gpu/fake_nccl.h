// An NCCL whose ranks are threads: what it is asked for is done at once by virtual ranks.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "gpu/collectives/nccl.h"
#include "runtime/collectives/virtual_ranks.h"

namespace soapstone::gpu::test {

class FakeNccl {
 public:
  /// Call number `failing` of any rank fails; −1: none. Other ranks may then wait as long as
  /// `limit`.
  explicit FakeNccl(int failing = -1,
                    std::chrono::milliseconds limit = std::chrono::milliseconds(200))
      : failing_(failing), limit_(limit) {}

  /// Its functions refer to this object.
  std::shared_ptr<const Nccl> nccl();
  int calls() const { return calls_; }
  /// Communicators that were not given back.
  std::size_t alive();
  bool was_aborted() const { return aborted_; }
  /// Initialization never ends.
  void hang() { hangs_ = true; }

 private:
  using Call = std::function<core::Status(runtime::Collectives&)>;
  int done();
  int perform(void* communicator, const Call& call);
  int init_rank(void** communicator, int size, const NcclId& id, int rank);
  void add_calls(Nccl& nccl);

  const int failing_;
  const std::chrono::milliseconds limit_;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> aborted_ = false, hangs_ = false;
  std::mutex mutex_;  // for what follows
  std::map<std::string, std::vector<std::unique_ptr<runtime::Collectives>>> ranks_;  // by id
  std::set<void*> alive_;
};

}  // namespace soapstone::gpu::test
