// See virtual_ranks.h. A call is two meetings: after the first every rank computes its result from
// what all have, after the second it may overwrite what others have read.
#include "runtime/collectives/virtual_ranks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "runtime/collectives/meeting.h"
#include "runtime/device/host_memory.h"
#include "runtime/execution/elements.h"

namespace soapstone::runtime {
namespace {

using core::DataType;
using Bytes = std::vector<std::byte>;

template <class T>
T reduced(T a, T b, Reduction reduction) {
  switch (reduction) {
  case Reduction::kSum:
    return static_cast<T>(a + b);
  case Reduction::kMax:
    return std::max(a, b);
  case Reduction::kMin:
    return std::min(a, b);
  }
  return a;
}

/// Whole numbers, which wrap as a device's do.
template <class T>
void reduce_integers(std::span<const std::byte> from, Bytes& into, Reduction reduction) {
  for (std::size_t at = 0; at < into.size(); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, into.data() + at, sizeof(T));
    std::memcpy(&b, from.data() + at, sizeof(T));
    // Sums of signed numbers must not overflow here either.
    const T sum = static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    const T result = reduction == Reduction::kSum ? sum : reduced(a, b, reduction);
    std::memcpy(into.data() + at, &result, sizeof(T));
  }
}

using ReduceIntegers = void (*)(std::span<const std::byte>, Bytes&, Reduction);
/// Null for types that are none.
ReduceIntegers integers_of(DataType type) {
  switch (type) {
  case DataType::kInt64:
    return reduce_integers<std::int64_t>;
  case DataType::kInt32:
    return reduce_integers<std::int32_t>;
  case DataType::kInt16:
    return reduce_integers<std::int16_t>;
  case DataType::kInt8:
    return reduce_integers<std::int8_t>;
  case DataType::kUInt64:
    return reduce_integers<std::uint64_t>;
  case DataType::kUInt32:
    return reduce_integers<std::uint32_t>;
  case DataType::kUInt16:
    return reduce_integers<std::uint16_t>;
  case DataType::kUInt8:
    return reduce_integers<std::uint8_t>;
  default:
    return nullptr;
  }
}

/// Real numbers are added as doubles and rounded once.
Bytes reduce_reals(const std::vector<std::span<const std::byte>>& all, DataType type,
                   Reduction reduction) {
  const auto count = static_cast<std::int64_t>(all[0].size() / core::size_bytes(type));
  const core::TensorType tensor{type, core::to_shape({count})};
  std::vector<double> sum = load_elements(tensor, Layout::kRowMajor, all[0].data());
  for (std::size_t r = 1; r < all.size(); ++r) {
    const auto values = load_elements(tensor, Layout::kRowMajor, all[r].data());
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = reduced(sum[k], values[k], reduction);
  }
  Bytes result(all[0].size());
  store_elements(tensor, Layout::kRowMajor, sum, result.data());
  return result;
}

Bytes reduce(const std::vector<std::span<const std::byte>>& all, DataType type,
             Reduction reduction) {
  const ReduceIntegers integers = integers_of(type);
  if (!integers) return reduce_reals(all, type, reduction);
  Bytes result(all[0].begin(), all[0].end());
  for (std::size_t r = 1; r < all.size(); ++r) integers(all[r], result, reduction);
  return result;
}

constexpr const char* name_of(Reduction reduction) {
  return reduction == Reduction::kSum   ? "sum"
         : reduction == Reduction::kMax ? "largest"
                                        : "smallest";
}

class VirtualRank final : public Collectives {
 public:
  VirtualRank(int rank, int size, std::shared_ptr<Meeting> meeting)
      : rank_(rank), size_(size), meeting_(std::move(meeting)) {}
  ~VirtualRank() override { meeting_->leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  core::Status all_reduce(const Elements& from, DeviceAddress to, Reduction reduction) override {
    SOAPSTONE_RETURN_IF_ERROR(check_reducible(from.type));
    return together(describe("all_reduce", from, name_of(reduction)), bytes_of(from), to,
                    [&](const auto& all) { return reduce(all, from.type, reduction); });
  }

  core::Status reduce_scatter(DeviceAddress from, const Elements& part,
                              Reduction reduction) override {
    SOAPSTONE_RETURN_IF_ERROR(check_reducible(part.type));
    const std::size_t bytes = size_of(part);
    return together(describe("reduce_scatter", part, name_of(reduction)), parts_of(from, part),
                    part.address, [&](auto all) {
                      for (auto& one : all)
                        one = one.subspan(static_cast<std::size_t>(rank_) * bytes, bytes);
                      return reduce(all, part.type, reduction);
                    });
  }

  core::Status all_gather(const Elements& part, DeviceAddress to) override {
    return together(describe("all_gather", part), bytes_of(part), to, [](const auto& all) {
      Bytes result;
      for (const auto& one : all) result.insert(result.end(), one.begin(), one.end());
      return result;
    });
  }

  core::Status broadcast(const Elements& data, int root) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(root));
    return together(describe("broadcast", data, fmt::format("from {}", root)), bytes_of(data),
                    data.address, [&](const auto& all) {
                      const auto& one = all[static_cast<std::size_t>(root)];
                      return Bytes(one.begin(), one.end());
                    });
  }

  core::Status all_to_all(DeviceAddress from, const Elements& part) override {
    const std::size_t bytes = size_of(part);
    return together(
        describe("all_to_all", part), parts_of(from, part), part.address, [&](const auto& all) {
          Bytes result;
          for (const auto& one : all) {
            const auto mine = one.subspan(static_cast<std::size_t>(rank_) * bytes, bytes);
            result.insert(result.end(), mine.begin(), mine.end());
          }
          return result;
        });
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
    return {host_pointer(from), static_cast<std::size_t>(size_) * size_of(part)};
  }

  std::string describe(const char* call, const Elements& of, const std::string& how = {}) const {
    return fmt::format("{} of {} {}{}{}", call, of.count, core::to_string(of.type),
                       how.empty() ? "" : ", ", how);
  }

  core::Status check_rank(int rank) const {
    if (rank >= 0 && rank < size_) return core::Done{};
    return core::invalid_input(fmt::format("there are {} ranks, and {} is none", size_, rank));
  }
  core::Status check_reducible(DataType type) const {
    if (core::is_floating(type) || integers_of(type)) return core::Done{};
    return core::unsupported(fmt::format("{} cannot be reduced", core::to_string(type)));
  }

  template <class Result>
  core::Status together(const std::string& call, std::span<const std::byte> mine, DeviceAddress to,
                        const Result& result) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto all, meeting_->exchange(rank_, call, mine));
    const Bytes computed = result(all);
    SOAPSTONE_RETURN_IF_ERROR(meeting_->meet(rank_, call));
    std::ranges::copy(computed, host_pointer(to));
    return core::Done{};
  }

  core::Status receive_now(const Elements& data, int from) {
    SOAPSTONE_ASSIGN_OR_RETURN(const Bytes message, meeting_->receive(from, rank_));
    if (message.size() != size_of(data)) {
      meeting_->fail(fmt::format("rank {} sends {} bytes, and rank {} waits for {}", from,
                                 message.size(), rank_, size_of(data)));
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
