// See fake_nccl.h.
#include "tests/gpu/fake_nccl.h"

#include <array>

namespace soapstone::gpu::test {
namespace {

using core::DataType;
using runtime::Collectives;
using runtime::DeviceAddress;
using runtime::Elements;

constexpr int kRemoteError = 6;
constexpr std::array kTypes = {DataType::kInt8,    DataType::kUInt8,   DataType::kInt32,
                               DataType::kUInt32,  DataType::kInt64,   DataType::kUInt64,
                               DataType::kFloat16, DataType::kFloat32, DataType::kFloat64,
                               DataType::kBFloat16};

Elements elements(const void* data, std::size_t count, int type) {
  return {DeviceAddress(reinterpret_cast<std::uintptr_t>(data)), static_cast<std::int64_t>(count),
          kTypes.at(static_cast<std::size_t>(type))};
}
DeviceAddress address(const void* data) {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(data));
}
runtime::Reduction reduction(int number) {
  return number == 0   ? runtime::Reduction::kSum
         : number == 2 ? runtime::Reduction::kMax
                       : runtime::Reduction::kMin;
}

}  // namespace

int FakeNccl::done() { return calls_++ == failing_ ? kRemoteError : Nccl::kSuccess; }

std::size_t FakeNccl::alive() {
  const std::lock_guard lock(mutex_);
  return alive_.size();
}

int FakeNccl::init_rank(void** communicator, int size, const NcclId& id, int rank) {
  const std::lock_guard lock(mutex_);
  auto& ranks = ranks_[std::string(id.bytes.begin(), id.bytes.end())];
  if (ranks.empty()) ranks = runtime::make_virtual_ranks(size, limit_);
  *communicator = ranks[static_cast<std::size_t>(rank)].get();
  alive_.insert(*communicator);
  return hangs_ ? Nccl::kInProgress : done();
}

int FakeNccl::perform(void* communicator, const Call& call) {
  {
    const std::lock_guard lock(mutex_);
    if (!alive_.contains(communicator)) return Nccl::kInvalidArgument;
  }
  if (const int result = done(); result != Nccl::kSuccess) return result;
  return call(*static_cast<Collectives*>(communicator)) ? Nccl::kSuccess : kRemoteError;
}

void FakeNccl::add_calls(Nccl& n) {
  n.all_reduce = [this](const void* from, void* to, std::size_t count, int type, int how, void* c,
                        void*) {
    return perform(c, [=](Collectives& rank) {
      return rank.all_reduce(elements(from, count, type), address(to), reduction(how));
    });
  };
  n.reduce_scatter = [this](const void* from, void* to, std::size_t count, int type, int how,
                            void* c, void*) {
    return perform(c, [=](Collectives& rank) {
      return rank.reduce_scatter(address(from), elements(to, count, type), reduction(how));
    });
  };
  n.all_gather = [this](const void* from, void* to, std::size_t count, int type, void* c, void*) {
    return perform(c, [=](Collectives& rank) {
      return rank.all_gather(elements(from, count, type), address(to));
    });
  };
  n.broadcast = [this](const void* from, void* to, std::size_t count, int type, int root, void* c,
                       void*) {
    return perform(c, [=](Collectives& rank) {
      return from == to ? rank.broadcast(elements(to, count, type), root)
                        : core::unsupported("in place only");
    });
  };
  // Nobody waits within a group: receiving could wait for what this rank has yet to send.
  n.send = [this](const void* data, std::size_t count, int type, int peer, void* c, void*) {
    return perform(c,
                   [=](Collectives& rank) { return rank.send(elements(data, count, type), peer); });
  };
  n.receive = [this](void* data, std::size_t count, int type, int peer, void* c, void*) {
    return perform(
        c, [=](Collectives& rank) { return rank.receive(elements(data, count, type), peer); });
  };
}

std::shared_ptr<const Nccl> FakeNccl::nccl() {
  auto nccl = std::make_shared<Nccl>();
  nccl->error_text = [](int) { return "a made-up error"; };
  nccl->make_id = [this](NcclId* id) {
    id->bytes[0] = static_cast<char>('a' + calls_);
    return done();
  };
  nccl->init_rank = [this](void** communicator, int size, NcclId id, int rank, NcclConfig*) {
    return init_rank(communicator, size, id, rank);
  };
  nccl->async_error = [this](void*, int* error) {
    *error = hangs_ ? Nccl::kInProgress : Nccl::kSuccess;
    return Nccl::kSuccess;
  };
  nccl->finalize = [](void*) { return Nccl::kSuccess; };
  const auto end = [this](void* communicator) {
    const std::lock_guard lock(mutex_);
    return alive_.erase(communicator) == 1 ? Nccl::kSuccess : Nccl::kInvalidArgument;
  };
  nccl->destroy = end;
  nccl->abort = [this, end](void* communicator) {
    aborted_ = true;
    static_cast<Collectives*>(communicator)->abort("aborted");
    return end(communicator);
  };
  nccl->begin_group = [this] { return done(); };
  nccl->end_group = [this] { return done(); };
  add_calls(*nccl);
  return nccl;
}

}  // namespace soapstone::gpu::test
