// See virtual_ranks.h. A call is two meetings: after the first every rank computes its result from
// what all have, after the second it may overwrite what others have read.
#include "runtime/collectives/virtual_ranks.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "runtime/collectives/meeting.h"
#include "runtime/collectives/reduction.h"
#include "runtime/device/host_memory.h"

namespace soapstone::runtime {
namespace {

using core::DataType;
using Bytes = std::vector<std::byte>;

class VirtualRank final : public Collectives {
 public:
  VirtualRank(int rank, int size, std::shared_ptr<Meeting> meeting)
      : rank_(rank), size_(size), meeting_(std::move(meeting)) {}
  ~VirtualRank() override { meeting_->leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  core::Status all_reduce(const Elements& from, DeviceAddress to, Reduction reduction) override {
    SOAPSTONE_RETURN_IF_ERROR(check_reducible(from.type));
    return together(describe("all_reduce", from, to_string(reduction)), bytes_of(from),
                    {host_pointer(to), size_of(from)}, [&](const auto& all, std::byte* result) {
                      reduce(all, from, reduction, result);
                    });
  }

  core::Status reduce_scatter(DeviceAddress from, const Elements& part,
                              Reduction reduction) override {
    SOAPSTONE_RETURN_IF_ERROR(check_reducible(part.type));
    const std::size_t bytes = size_of(part);
    return together(describe("reduce_scatter", part, to_string(reduction)), parts_of(from, part),
                    {host_pointer(part.address), bytes}, [&](auto all, std::byte* result) {
                      for (auto& one : all)
                        one = one.subspan(static_cast<std::size_t>(rank_) * bytes, bytes);
                      reduce(all, part, reduction, result);
                    });
  }

  core::Status all_gather(const Elements& part, DeviceAddress to) override {
    return together(describe("all_gather", part), bytes_of(part), parts_at(to, part),
                    [](const auto& all, std::byte* result) {
                      for (const auto& one : all)
                        result = std::copy(one.begin(), one.end(), result);
                    });
  }

  core::Status broadcast(const Elements& data, int root) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(root));
    return together(describe("broadcast", data, fmt::format("from {}", root)), bytes_of(data),
                    {host_pointer(data.address), size_of(data)},
                    [&](const auto& all, std::byte* result) {
                      std::ranges::copy(all[static_cast<std::size_t>(root)], result);
                    });
  }

  core::Status all_to_all(DeviceAddress from, const Elements& part) override {
    const std::size_t bytes = size_of(part);
    return together(describe("all_to_all", part), parts_of(from, part),
                    parts_at(part.address, part), [&](const auto& all, std::byte* result) {
                      for (const auto& one : all)
                        result =
                            std::ranges::copy(
                                one.subspan(static_cast<std::size_t>(rank_) * bytes, bytes), result)
                                .out;
                    });
  }

  core::Result<std::unique_ptr<Collectives>> subset(std::span<const int> ranks) override {
    SOAPSTONE_RETURN_IF_ERROR(check_subset(ranks, rank_, size_));
    SOAPSTONE_ASSIGN_OR_RETURN(auto meeting, meeting_->subset(rank_, ranks));
    const auto place = static_cast<int>(std::ranges::find(ranks, rank_) - ranks.begin());
    return std::unique_ptr<Collectives>(
        std::make_unique<VirtualRank>(place, static_cast<int>(ranks.size()), std::move(meeting)));
  }

  core::Status send(const Elements& data, int to) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(to));
    return meeting_->send(rank_, to, bytes_of(data));
  }

  core::Status receive(const Elements& data, int from) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(from));
    if (in_group_) {
      // What this rank sends later in the group must not wait for it.
      awaited_.emplace_back(data, from);
      return core::Done{};
    }
    return receive_now(data, from);
  }

  core::Status begin_group() override {
    in_group_ = true;
    return core::Done{};
  }

  core::Status end_group() override {
    in_group_ = false;
    for (const auto& [data, from] : std::exchange(awaited_, {}))
      SOAPSTONE_RETURN_IF_ERROR(receive_now(data, from));
    return core::Done{};
  }

  core::Status wait() override { return meeting_->status(); }
  void abort(const std::string& reason) override { meeting_->fail(reason); }

 private:
  std::size_t size_of(const Elements& elements) const {
    return static_cast<std::size_t>(elements.count) * core::size_bytes(elements.type);
  }
  std::span<const std::byte> bytes_of(const Elements& elements) const {
    return {host_pointer(elements.address), size_of(elements)};
  }
  std::span<const std::byte> parts_of(DeviceAddress from, const Elements& part) const {
    return parts_at(from, part);
  }
  std::span<std::byte> parts_at(DeviceAddress at, const Elements& part) const {
    return {host_pointer(at), static_cast<std::size_t>(size_) * size_of(part)};
  }

  std::string describe(const char* call, const Elements& of, const std::string& how = {}) const {
    return fmt::format("{} of {} {}{}{}", call, of.count, core::to_string(of.type),
                       how.empty() ? "" : ", ", how);
  }

  static void reduce(const std::vector<std::span<const std::byte>>& all, const Elements& elements,
                     Reduction reduction, std::byte* result) {
    std::vector<const std::byte*> from;
    for (const auto& one : all) from.push_back(one.data());
    reduce_in_order(from, elements.count, elements.type, reduction, result);
  }

  core::Status check_rank(int rank) const {
    if (rank >= 0 && rank < size_) return core::Done{};
    return core::invalid_input(fmt::format("there are {} ranks, and {} is none", size_, rank));
  }
  static core::Status check_reducible(DataType type) {
    if (can_reduce(type)) return core::Done{};
    return core::unsupported(fmt::format("{} cannot be reduced", core::to_string(type)));
  }

  /// `write` makes this rank's result of what all ranks have. Where it lies in place of what the
  /// others read, it is made elsewhere and comes there when all have read.
  template <class Write>
  core::Status together(const std::string& call, std::span<const std::byte> mine,
                        std::span<std::byte> to, const Write& write) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto all, meeting_->exchange(rank_, call, mine));
    const std::less<> before;
    const bool is_apart = !before(mine.data(), to.data() + to.size()) ||
                          !before(to.data(), mine.data() + mine.size());
    Bytes elsewhere(is_apart ? 0 : to.size());
    write(all, is_apart ? to.data() : elsewhere.data());
    SOAPSTONE_RETURN_IF_ERROR(meeting_->meet(rank_, call));
    std::ranges::copy(elsewhere, to.begin());
    return core::Done{};
  }

  core::Status receive_now(const Elements& data, int from) {
    SOAPSTONE_ASSIGN_OR_RETURN(const Bytes message, meeting_->receive(from, rank_));
    if (message.size() != size_of(data)) {
      meeting_->fail(fmt::format("rank {} sends {} bytes, and rank {} waits for {}",
                                 meeting_->name_of(from), message.size(), meeting_->name_of(rank_),
                                 size_of(data)));
      return meeting_->status();
    }
    std::ranges::copy(message, host_pointer(data.address));
    return core::Done{};
  }

  const int rank_, size_;
  std::shared_ptr<Meeting> meeting_;
  bool in_group_ = false;
  std::vector<std::pair<Elements, int>> awaited_;
};

}  // namespace

std::vector<std::unique_ptr<Collectives>> make_virtual_ranks(int size,
                                                             std::chrono::milliseconds limit) {
  CHECK(size > 0, "ranks");
  const auto meeting = std::make_shared<Meeting>(size, limit);
  std::vector<std::unique_ptr<Collectives>> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back(std::make_unique<VirtualRank>(rank, size, meeting));
  return ranks;
}

}  // namespace soapstone::runtime
