// See absent_ranks.h.
#include "parallel/running/absent_ranks.h"

#include <algorithm>
#include <cstring>

#include "core/graph/tensor_type.h"

namespace soapstone::parallel {
namespace {

using core::Status;
using runtime::DeviceAddress;
using runtime::Elements;

std::byte* host(DeviceAddress address) { return reinterpret_cast<std::byte*>(address.value()); }

std::size_t bytes_of(const Elements& data) {
  return static_cast<std::size_t>(data.count) * core::size_bytes(data.type);
}

Status copy(DeviceAddress from, const Elements& to) {
  if (from != to.address) std::memmove(host(to.address), host(from), bytes_of(to));
  return core::Done{};
}

class AbsentRanks final : public runtime::Collectives {
 public:
  AbsentRanks(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status all_reduce(const Elements& from, DeviceAddress to, runtime::Reduction) override {
    return copy(from.address, {to, from.count, from.type});
  }
  Status reduce_scatter(DeviceAddress from, const Elements& part, runtime::Reduction) override {
    return copy(part_of(from, part, rank_), part);
  }
  Status all_gather(const Elements& part, DeviceAddress to) override {
    for (int r = 0; r < size_; ++r) {
      const Elements other{part_of(to, part, r), part.count, part.type};
      SOAPSTONE_RETURN_IF_ERROR(copy(part.address, other));
    }
    return core::Done{};
  }
  Status broadcast(const Elements&, int) override { return core::Done{}; }
  Status all_to_all(DeviceAddress from, const Elements& part) override {
    return all_gather({part_of(from, part, rank_), part.count, part.type}, part.address);
  }
  Status send(const Elements&, int) override { return core::Done{}; }
  Status receive(const Elements& data, int) override {
    std::memset(host(data.address), 0, bytes_of(data));
    return core::Done{};
  }
  Status begin_group() override { return core::Done{}; }
  Status end_group() override { return core::Done{}; }
  core::Result<std::unique_ptr<runtime::Collectives>> subset(std::span<const int> ranks) override {
    SOAPSTONE_RETURN_IF_ERROR(runtime::check_subset(ranks, rank_, size_));
    const auto place = std::ranges::find(ranks, rank_) - ranks.begin();
    return make_absent_ranks(static_cast<int>(place), static_cast<int>(ranks.size()));
  }
  Status wait() override { return core::Done{}; }
  void abort(const std::string&) override {}

 private:
  static DeviceAddress part_of(DeviceAddress all, const Elements& part, int rank) {
    return all + bytes_of(part) * static_cast<std::size_t>(rank);
  }

  const int rank_, size_;
};

}  // namespace

std::unique_ptr<runtime::Collectives> make_absent_ranks(int rank, int size) {
  return std::make_unique<AbsentRanks>(rank, size);
}

}  // namespace soapstone::parallel
