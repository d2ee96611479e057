// Collective operations of virtual ranks: each beside what it means, on several types; ranks that
// fail, leave, come late or ask for something else end the waits of all others.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "runtime/collectives/virtual_ranks.h"
#include "runtime/device/host_memory.h"

namespace soapstone::runtime {
namespace {

using core::DataType;
using std::chrono::milliseconds;

template <class T>
DeviceAddress address_of(std::vector<T>& values) {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(values.data()));
}
template <class T>
Elements all_of(std::vector<T>& values, DataType type) {
  return {address_of(values), static_cast<std::int64_t>(values.size()), type};
}

/// Calls `work(rank's collectives)` in a thread for each rank and returns what they return.
template <class Work>
std::vector<core::Status> on_all(std::vector<std::unique_ptr<Collectives>>& ranks,
                                 const Work& work) {
  std::vector<core::Status> statuses(ranks.size(), core::Done{});
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] { statuses[r] = work(*ranks[r]); });
  threads.clear();
  return statuses;
}
void expect_all(const std::vector<core::Status>& statuses) {
  for (const core::Status& status : statuses)
    EXPECT_TRUE(status.ok()) << status.error().to_string();
}

class VirtualRanks : public testing::TestWithParam<int> {
 protected:
  int size() const { return GetParam(); }
  std::vector<std::unique_ptr<Collectives>> ranks_ = make_virtual_ranks(GetParam());
};

TEST_P(VirtualRanks, Reduce) {
  expect_all(on_all(ranks_, [&](Collectives& mine) -> core::Status {
    std::vector<float> values{static_cast<float>(mine.rank()), 1.5F, -1.0F * mine.rank()};
    SOAPSTONE_RETURN_IF_ERROR(
        mine.all_reduce(all_of(values, DataType::kFloat32), address_of(values), Reduction::kSum));
    const auto last = static_cast<float>(size() - 1);
    const float sum = last * static_cast<float>(size()) / 2;
    EXPECT_EQ(values, (std::vector<float>{sum, 1.5F * static_cast<float>(size()), -sum}));

    std::vector<std::int64_t> large{std::int64_t{1} << 60, mine.rank(), -mine.rank()}, most(3);
    SOAPSTONE_RETURN_IF_ERROR(
        mine.all_reduce(all_of(large, DataType::kInt64), address_of(most), Reduction::kMax));
    EXPECT_EQ(most, (std::vector<std::int64_t>{std::int64_t{1} << 60, size() - 1, 0}));
    return mine.all_reduce(all_of(large, DataType::kInt64), address_of(large), Reduction::kMin);
  }));
}

TEST_P(VirtualRanks, ReducePartsAndGatherThem) {
  expect_all(on_all(ranks_, [&](Collectives& mine) -> core::Status {
    std::vector<double> values(static_cast<std::size_t>(2 * size()));
    std::iota(values.begin(), values.end(), 100.0 * mine.rank());
    std::vector<double> part(2), all(values.size());
    SOAPSTONE_RETURN_IF_ERROR(
        mine.reduce_scatter(address_of(values), all_of(part, DataType::kFloat64), Reduction::kSum));
    const double ranks_sum = 100.0 * size() * (size() - 1) / 2;
    EXPECT_EQ(part[0], ranks_sum + 2.0 * mine.rank() * size());
    SOAPSTONE_RETURN_IF_ERROR(mine.all_gather(all_of(part, DataType::kFloat64), address_of(all)));
    for (std::size_t k = 0; k < all.size(); ++k)
      EXPECT_EQ(all[k], ranks_sum + static_cast<double>(k) * size());
    return core::Done{};
  }));
}

TEST_P(VirtualRanks, BroadcastAndExchange) {
  expect_all(on_all(ranks_, [&](Collectives& mine) -> core::Status {
    const int root = size() - 1;
    std::vector<std::int8_t> word{static_cast<std::int8_t>(mine.rank()), 7};
    SOAPSTONE_RETURN_IF_ERROR(mine.broadcast(all_of(word, DataType::kInt8), root));
    EXPECT_EQ(word[0], root);
    std::vector<std::int32_t> from(static_cast<std::size_t>(size())), to(from.size());
    for (std::size_t k = 0; k < from.size(); ++k)
      from[k] = 10 * mine.rank() + static_cast<std::int32_t>(k);
    SOAPSTONE_RETURN_IF_ERROR(
        mine.all_to_all(address_of(from), {address_of(to), 1, DataType::kInt32}));
    for (std::size_t k = 0; k < to.size(); ++k)
      EXPECT_EQ(to[k], 10 * static_cast<std::int32_t>(k) + mine.rank());
    return core::Done{};
  }));
}

/// Everybody first receives from the left, then sends to the right: only a group can do that.
TEST_P(VirtualRanks, ShiftInAGroup) {
  expect_all(on_all(ranks_, [&](Collectives& mine) -> core::Status {
    std::vector<float> out{static_cast<float>(mine.rank())}, in{-1};
    SOAPSTONE_RETURN_IF_ERROR(mine.begin_group());
    SOAPSTONE_RETURN_IF_ERROR(
        mine.receive(all_of(in, DataType::kFloat32), (mine.rank() + size() - 1) % size()));
    SOAPSTONE_RETURN_IF_ERROR(
        mine.send(all_of(out, DataType::kFloat32), (mine.rank() + 1) % size()));
    SOAPSTONE_RETURN_IF_ERROR(mine.end_group());
    EXPECT_EQ(in[0], static_cast<float>((mine.rank() + size() - 1) % size()));
    return mine.wait();
  }));
}

/// Even and odd ranks each sum among themselves, and then all do; a subset of a subset counts on.
TEST_P(VirtualRanks, HaveSubsets) {
  expect_all(on_all(ranks_, [&](Collectives& mine) -> core::Status {
    std::vector<int> alike;
    for (int rank = mine.rank() % 2; rank < size(); rank += 2) alike.push_back(rank);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto part, mine.subset(alike));
    EXPECT_EQ(part->size(), static_cast<int>(alike.size()));
    EXPECT_EQ(alike[static_cast<std::size_t>(part->rank())], mine.rank());
    std::vector<int> all(alike.size());
    const int rank = mine.rank();
    SOAPSTONE_RETURN_IF_ERROR(part->all_gather(
        {DeviceAddress(reinterpret_cast<std::uintptr_t>(&rank)), 1, DataType::kInt32},
        address_of(all)));
    EXPECT_EQ(all, alike);
    const std::vector<int> last{part->size() - 1};
    if (part->rank() == last[0]) {
      SOAPSTONE_ASSIGN_OR_RETURN(const auto alone, part->subset(last));
      EXPECT_EQ(alone->size(), 1);
      SOAPSTONE_RETURN_IF_ERROR(alone->broadcast(all_of(all, DataType::kInt32), 0));
    }
    std::vector<float> one{1};
    SOAPSTONE_RETURN_IF_ERROR(
        mine.all_reduce(all_of(one, DataType::kFloat32), address_of(one), Reduction::kSum));
    EXPECT_EQ(one[0], static_cast<float>(size()));
    return core::Done{};
  }));
}

/// The same ranks may have several subsets, whose messages do not mix.
TEST_P(VirtualRanks, HaveSubsetsOfTheSameRanks) {
  expect_all(on_all(ranks_, [&](Collectives& mine) -> core::Status {
    std::vector<int> all(static_cast<std::size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto first, mine.subset(all));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto second, mine.subset(all));
    std::vector<float> one{1}, two{2}, in{0};
    const int to = (mine.rank() + 1) % size(), from = (mine.rank() + size() - 1) % size();
    SOAPSTONE_RETURN_IF_ERROR(first->send(all_of(one, DataType::kFloat32), to));
    SOAPSTONE_RETURN_IF_ERROR(second->send(all_of(two, DataType::kFloat32), to));
    SOAPSTONE_RETURN_IF_ERROR(second->receive(all_of(in, DataType::kFloat32), from));
    EXPECT_EQ(in[0], 2);
    SOAPSTONE_RETURN_IF_ERROR(first->receive(all_of(in, DataType::kFloat32), from));
    EXPECT_EQ(in[0], 1);
    return core::Done{};
  }));
}

INSTANTIATE_TEST_SUITE_P(Sizes, VirtualRanks, testing::Values(1, 2, 3, 8));

/// Half numbers are added exactly and rounded once: 2048 + 1 + 1 is 2050, though 2048 + 1 is 2048.
TEST(VirtualRanksRounding, IsThatOfTheSum) {
  auto ranks = make_virtual_ranks(3);
  expect_all(on_all(ranks, [](Collectives& mine) -> core::Status {
    std::vector<std::uint16_t> half{static_cast<std::uint16_t>(mine.rank() == 0 ? 0x6800 : 0x3c00)};
    SOAPSTONE_RETURN_IF_ERROR(
        mine.all_reduce(all_of(half, DataType::kFloat16), address_of(half), Reduction::kSum));
    EXPECT_EQ(half[0], 0x6801);
    return core::Done{};
  }));
}

class Failures : public testing::Test {
 protected:
  static constexpr milliseconds kLimit{300};
  std::vector<std::unique_ptr<Collectives>> ranks_ = make_virtual_ranks(3, kLimit);
  /// All ranks for which `comes` make one call; what they say.
  template <class Comes>
  std::string message_of(const Comes& comes) {
    std::string message;
    const auto statuses = on_all(ranks_, [&](Collectives& mine) -> core::Status {
      std::vector<float> value{1};
      if (!comes(mine)) return core::Done{};
      return mine.all_reduce(all_of(value, DataType::kFloat32), address_of(value), Reduction::kSum);
    });
    for (const core::Status& status : statuses) {
      if (status) continue;
      EXPECT_EQ(status.error().code, core::ErrorCode::kUnavailable);
      EXPECT_TRUE(message.empty() || message == status.error().message);
      message = status.error().message;
    }
    return message;
  }
};

TEST_F(Failures, ARankThatDoesNotCome) {
  const std::string message = message_of([](Collectives& mine) { return mine.rank() != 1; });
  EXPECT_EQ(message, "all_reduce of 1 f32, sum: no call of rank 1 within 300 ms");
  EXPECT_EQ(message_of([](Collectives&) { return true; }), message) << "nothing further works";
}

TEST_F(Failures, ARankThatLeaves) {
  ranks_.pop_back();
  EXPECT_EQ(message_of([](Collectives&) { return true; }), "rank 2 has left");
}

TEST_F(Failures, ARankThatGivesUp) {
  const std::string message = message_of([](Collectives& mine) {
    if (mine.rank() == 0) mine.abort("rank 0 has no memory left");
    return mine.rank() != 0;
  });
  EXPECT_EQ(message, "rank 0 has no memory left");
  EXPECT_FALSE(ranks_[1]->wait().ok());
}

TEST_F(Failures, RanksThatAskForDifferentThings) {
  const auto statuses = on_all(ranks_, [](Collectives& mine) -> core::Status {
    std::vector<float> values{1, 2};
    const Elements some{address_of(values), mine.rank() == 2 ? 2 : 1, DataType::kFloat32};
    return mine.all_reduce(some, address_of(values), Reduction::kSum);
  });
  for (const core::Status& status : statuses) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("calls all_reduce of 2 f32, sum"), std::string::npos);
  }
}

TEST_F(Failures, MessagesOfAnotherSize) {
  const auto statuses = on_all(ranks_, [](Collectives& mine) -> core::Status {
    std::vector<float> values{1, 2};
    if (mine.rank() == 0) return mine.send(all_of(values, DataType::kFloat32), 1);
    if (mine.rank() == 1) return mine.receive({address_of(values), 1, DataType::kFloat32}, 0);
    return core::Done{};
  });
  ASSERT_FALSE(statuses[1].ok());
  EXPECT_EQ(statuses[1].error().message, "rank 0 sends 8 bytes, and rank 1 waits for 4");
}

/// Calls `work` with the subset of ranks 1 and 2 on these, while rank 0 waits for all.
class SubsetFailures : public Failures {
 protected:
  template <class Work>
  std::vector<core::Status> statuses_of(const Work& work) {
    return on_all(ranks_, [&](Collectives& mine) -> core::Status {
      std::vector<float> value{1};
      if (mine.rank() > 0) {
        SOAPSTONE_ASSIGN_OR_RETURN(const auto part, mine.subset(std::vector<int>{1, 2}));
        SOAPSTONE_RETURN_IF_ERROR(work(*part));
      }
      return mine.all_reduce(all_of(value, DataType::kFloat32), address_of(value), Reduction::kSum);
    });
  }
  static void expect_message(const std::vector<core::Status>& statuses,
                             const std::string& message) {
    for (const core::Status& status : statuses) {
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().message, message);
    }
  }
};

TEST_F(SubsetFailures, AnAbortReachesAll) {
  expect_message(statuses_of([](Collectives& part) {
                   if (part.rank() == 0) part.abort("no memory left");
                   return part.rank() == 0 ? core::Status(core::Done{}) : part.wait();
                 }),
                 "no memory left");
}

TEST_F(SubsetFailures, ARankOfASubsetThatLeaves) {
  std::vector<float> value{1};
  const auto statuses = statuses_of([&](Collectives& part) {
    if (part.rank() == 1) return core::Status(core::Done{});
    return part.receive({address_of(value), 1, DataType::kFloat32}, 1);
  });
  expect_message(statuses, "rank 2 has left, and rank 1 waits for a message");
}

TEST_F(SubsetFailures, ARankThatDoesNotComeToASubset) {
  const auto statuses = on_all(ranks_, [](Collectives& mine) -> core::Status {
    if (mine.rank() == 1) return mine.subset(std::vector<int>{1, 2}).error();
    return core::Done{};
  });
  EXPECT_EQ(statuses[1].error().message, "subset of ranks 1, 2: no call of rank 2 within 300 ms");
}

TEST_F(SubsetFailures, ARankThatLeavesBeforeASubset) {
  const auto leaves = on_all(ranks_, [&](Collectives& mine) -> core::Status {
    if (mine.rank() == 1) return mine.subset(std::vector<int>{1, 2}).error();
    if (mine.rank() == 2) ranks_[2].reset();
    return core::Done{};
  });
  EXPECT_EQ(leaves[1].error().message, "rank 2 has left");
}

TEST_F(SubsetFailures, RanksThatAreNoSubset) {
  using Ranks = std::vector<int>;
  for (const Ranks& ranks : {Ranks{}, {1, 2}, {0, 3}, {-1, 0}, {1, 0}, {0, 0}}) {
    const auto part = ranks_[0]->subset(ranks);
    ASSERT_FALSE(part.ok());
    EXPECT_EQ(part.error().code, core::ErrorCode::kInvalidInput);
  }
  EXPECT_TRUE(ranks_[0]->wait().ok()) << "nothing has happened";
}

TEST_F(Failures, RanksAndTypesThatAreNone) {
  std::vector<float> value{1};
  const Elements some = all_of(value, DataType::kFloat32);
  EXPECT_EQ(ranks_[0]->send(some, 3).error().code, core::ErrorCode::kInvalidInput);
  EXPECT_EQ(ranks_[0]->broadcast(some, -1).error().code, core::ErrorCode::kInvalidInput);
  EXPECT_EQ(ranks_[0]
                ->all_reduce({some.address, 1, DataType::kBool}, some.address, Reduction::kSum)
                .error()
                .code,
            core::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace soapstone::runtime
