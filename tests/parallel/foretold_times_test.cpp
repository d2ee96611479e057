// Programs whose computing times are known are foretold; ranks that are not there answer.
#include "parallel/running/foretold_times.h"

#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/running/absent_ranks.h"

namespace soapstone::parallel {
namespace {

constexpr double kLatencyUs = 2;
constexpr double kValueUs = 10;  ///< What the bytes of a value take on a link.

Topology devices_on_a_wire(std::int64_t count) {
  const runtime::DeviceKind kind{"device", "device", 1e9, 1e9, {{core::DataType::kFloat32, 1e9}}};
  const double value_bytes = 1000 * sizeof(float);
  return *Topology::make(
      Hierarchy{"wired",
                {kind},
                {{0, count}},
                {{"wire", count, kLatencyUs, value_bytes / kValueUs * 1e6, 1, true}}});
}

Topology two_devices() { return devices_on_a_wire(2); }

RankProgram empty_program() {
  RankProgram program;
  program.values.assign(2, {core::DataType::kFloat32, core::to_shape({1000}), true});
  return program;
}

RankStep sum(std::size_t number, std::vector<std::int64_t> group = {0, 1}) {
  return AllReduceStep{number,           core::TensorId(0), JoinedValues::kSum,
                       std::move(group), RankValueId(0),    RankValueId(1)};
}

TEST(ForetoldTimes, ARankWaitsForTheLastOneOfASum) {
  std::vector<RankProgram> programs(2, empty_program());
  for (RankProgram& program : programs) program.steps = {ComputeStep{}, sum(0), ComputeStep{}};
  const auto times = foretold_times(programs, {{5, 0, 7}, {50, 0, 3}}, two_devices());
  ASSERT_TRUE(times.ok());
  const double end_of_sum_us = (*times)[0][1].end_us;
  EXPECT_GT(end_of_sum_us, 50 + kValueUs);
  EXPECT_DOUBLE_EQ((*times)[1][1].end_us, end_of_sum_us);
  EXPECT_DOUBLE_EQ((*times)[0][1].start_us, 5) << "it begins to wait";
  EXPECT_DOUBLE_EQ((*times)[0][2].end_us, end_of_sum_us + 7);
  EXPECT_DOUBLE_EQ((*times)[1][2].end_us, end_of_sum_us + 3);
}

TEST(ForetoldTimes, GroupsThatSumAtOnceDoNotWaitForEachOther) {
  std::vector<RankProgram> programs(4, empty_program());
  for (std::size_t r = 0; r < 4; ++r)
    programs[r].steps = {ComputeStep{}, sum(0, r < 2 ? std::vector<std::int64_t>{0, 1}
                                                     : std::vector<std::int64_t>{2, 3})};
  const auto times =
      foretold_times(programs, {{5, 0}, {10, 0}, {500, 0}, {900, 0}}, devices_on_a_wire(4));
  ASSERT_TRUE(times.ok());
  EXPECT_DOUBLE_EQ((*times)[0][1].end_us, (*times)[1][1].end_us);
  EXPECT_LT((*times)[0][1].end_us, 500);
  EXPECT_GT((*times)[2][1].end_us, 900);
  EXPECT_DOUBLE_EQ((*times)[2][1].end_us, (*times)[3][1].end_us);
}

TEST(ForetoldTimes, AMessageIsThereSomeTimeAfterItWasSent) {
  std::vector<RankProgram> programs(2, empty_program());
  const Message sent{0, 1, core::TensorId(0), RankValueId(0)};
  const Message received{0, 0, core::TensorId(0), RankValueId(0)};
  programs[0].steps = {ComputeStep{}, MessageStep{{sent}, {}}, ComputeStep{}};
  programs[1].steps = {MessageStep{{}, {received}}};
  const auto times = foretold_times(programs, {{20, 0, 100}, {0}}, two_devices());
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR((*times)[1][0].end_us, 20 + kLatencyUs + kValueUs, 1e-6);
}

TEST(ForetoldTimes, BothDirectionsOfALinkAreUsedAtOnce) {
  std::vector<RankProgram> programs(2, empty_program());
  for (const std::int64_t rank : {0, 1})
    programs[static_cast<std::size_t>(rank)].steps = {MessageStep{
        {{static_cast<std::size_t>(rank), 1 - rank, core::TensorId(0), RankValueId(0)}},
        {{static_cast<std::size_t>(1 - rank), 1 - rank, core::TensorId(0), RankValueId(1)}}}};
  const auto times = foretold_times(programs, {{0}, {0}}, two_devices());
  ASSERT_TRUE(times.ok());
  EXPECT_NEAR((*times)[0][0].end_us, kLatencyUs + kValueUs, 1e-6);
}

TEST(ForetoldTimes, ARankThatWaitsForEverIsAFault) {
  std::vector<RankProgram> programs(2, empty_program());
  programs[0].steps = {sum(0)};
  const auto times = foretold_times(programs, {{0}, {}}, two_devices());
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(times.error().code, core::ErrorCode::kInternal);
}

runtime::Elements elements(std::span<float> numbers) {
  return {runtime::DeviceAddress(reinterpret_cast<std::uintptr_t>(numbers.data())),
          static_cast<std::int64_t>(numbers.size()), core::DataType::kFloat32};
}

TEST(AbsentRanks, HaveWhatTheOneThatIsThereHas) {
  const auto ranks = make_absent_ranks(1, 3);
  std::array<float, 2> own = {4, 5}, other = {7, 7};
  EXPECT_TRUE(ranks->all_reduce(elements(own), elements(other).address, runtime::Reduction::kSum));
  EXPECT_EQ(other, own);
  EXPECT_TRUE(ranks->receive(elements(other), 0));
  EXPECT_EQ(other, (std::array<float, 2>{0, 0}));
  std::array<float, 6> all{};
  EXPECT_TRUE(ranks->all_gather(elements(own), elements(all).address));
  EXPECT_EQ(all, (std::array<float, 6>{4, 5, 4, 5, 4, 5}));
  all = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(
      ranks->reduce_scatter(elements(all).address, elements(other), runtime::Reduction::kMax));
  EXPECT_EQ(other, (std::array<float, 2>{3, 4}));
  std::array<float, 6> to{};
  const runtime::Elements part{elements(to).address, 2, core::DataType::kFloat32};
  EXPECT_TRUE(ranks->all_to_all(elements(all).address, part));
  EXPECT_EQ(to, (std::array<float, 6>{3, 4, 3, 4, 3, 4}));
}

TEST(AbsentRanks, HaveSubsetsOfTheOnesThatAreThere) {
  const auto ranks = make_absent_ranks(2, 4);
  const std::vector<int> some = {0, 2};
  const auto subset = ranks->subset(some);
  ASSERT_TRUE(subset.ok());
  EXPECT_EQ((*subset)->rank(), 1);
  EXPECT_EQ((*subset)->size(), 2);
  const std::vector<int> others = {0, 1};
  EXPECT_FALSE(ranks->subset(others).ok());
}

}  // namespace
}  // namespace soapstone::parallel
