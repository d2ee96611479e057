// Ranks by NCCL, on an NCCL and drivers that are fakes: every operation, and that whatever fails or
// takes too long is said once, ends the communicator and loses nothing. The library that is
// installed is asked for its version, which needs no GPU.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "gpu/collectives/nccl_rank.h"
#include "tests/gpu/fake_driver.h"
#include "tests/gpu/fake_nccl.h"

namespace soapstone::gpu {
namespace {

using core::DataType;
using runtime::Collectives;
using runtime::DeviceAddress;
using std::chrono::milliseconds;
using test::FakeCompiler;
using test::FakeDriver;
using test::FakeNccl;

constexpr int kNotReady = 600;

template <class T>
DeviceAddress address_of(std::vector<T>& values) {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(values.data()));
}

/// What a rank does with its operations; the memory of fake devices is the host's.
using Program = std::function<core::Status(Collectives&)>;

struct Setting {
  int ranks = 3;
  int stream_says = 0;  ///< What the driver answers when asked whether the stream is done.
  milliseconds limit = milliseconds(400);
};

core::Status run_rank(const std::shared_ptr<const Nccl>& nccl, const NcclId& id, int rank,
                      const Setting& setting, const Program& program) {
  FakeCompiler compiler;
  FakeDriver fake(compiler);
  Driver driver = fake.driver();
  driver.query_stream = [&](DriverHandle) { return setting.stream_says; };
  core::Status status = core::Done{};
  {
    SOAPSTONE_ASSIGN_OR_RETURN(DeviceFacts facts, find_device(driver, 0));
    SOAPSTONE_ASSIGN_OR_RETURN(const DevicePtr device, Device::open(driver, std::move(facts)));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto queue, GpuQueue::make(device));
    auto collectives = make_nccl_rank(nccl, static_cast<GpuQueue&>(*queue),
                                      {rank, setting.ranks, id, setting.limit});
    status = collectives ? program(**collectives) : core::Status(collectives.error());
  }
  EXPECT_EQ(fake.alive(), 0U);
  return status;
}

std::vector<core::Status> run_all(FakeNccl& fake, const Setting& setting, const Program& program) {
  const auto nccl = fake.nccl();
  const auto id = make_nccl_id(*nccl);
  if (!id) return {id.error()};
  std::vector<core::Status> statuses(static_cast<std::size_t>(setting.ranks), core::Done{});
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < setting.ranks; ++rank)
    threads.emplace_back([&, rank] {
      statuses[static_cast<std::size_t>(rank)] = run_rank(nccl, *id, rank, setting, program);
    });
  threads.clear();
  return statuses;
}

core::Status all_operations(Collectives& mine) {
  const auto n = static_cast<std::size_t>(mine.size());
  const auto rank = static_cast<float>(mine.rank());
  std::vector<float> values(n, rank), all(n), part{-1};
  const auto last = static_cast<float>(n - 1);
  SOAPSTONE_RETURN_IF_ERROR(
      mine.all_reduce({address_of(values), static_cast<std::int64_t>(n), DataType::kFloat32},
                      address_of(all), runtime::Reduction::kMax));
  EXPECT_EQ(all, std::vector<float>(n, last));
  SOAPSTONE_RETURN_IF_ERROR(mine.reduce_scatter(
      address_of(values), {address_of(part), 1, DataType::kFloat32}, runtime::Reduction::kSum));
  EXPECT_EQ(part[0], last * static_cast<float>(n) / 2);
  std::vector<std::int16_t> mark{static_cast<std::int16_t>(mine.rank())}, marks(n), wanted(n);
  std::iota(wanted.begin(), wanted.end(), std::int16_t{0});
  SOAPSTONE_RETURN_IF_ERROR(
      mine.all_gather({address_of(mark), 1, DataType::kInt16}, address_of(marks)));
  EXPECT_EQ(marks, wanted) << "a type that NCCL does not know is moved all the same";
  SOAPSTONE_RETURN_IF_ERROR(mine.broadcast({address_of(mark), 1, DataType::kInt16}, 1));
  EXPECT_EQ(mark[0], 1);
  std::vector<double> out(n), in(n);
  for (std::size_t k = 0; k < n; ++k) out[k] = 10.0 * mine.rank() + static_cast<double>(k);
  SOAPSTONE_RETURN_IF_ERROR(
      mine.all_to_all(address_of(out), {address_of(in), 1, DataType::kFloat64}));
  for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(in[k], 10.0 * static_cast<double>(k) + mine.rank());
  return mine.wait();
}

/// All but rank 0 sum their ranks.
core::Status sum_of_a_subset(Collectives& mine) {
  std::vector<int> ranks(static_cast<std::size_t>(mine.size() - 1));
  std::iota(ranks.begin(), ranks.end(), 1);
  if (mine.rank() == 0) return mine.wait();
  SOAPSTONE_ASSIGN_OR_RETURN(const auto part, mine.subset(ranks));
  EXPECT_EQ(part->rank(), mine.rank() - 1);
  EXPECT_EQ(part->size(), mine.size() - 1);
  std::vector<float> value{static_cast<float>(mine.rank())};
  SOAPSTONE_RETURN_IF_ERROR(part->all_reduce({address_of(value), 1, DataType::kFloat32},
                                             address_of(value), runtime::Reduction::kSum));
  EXPECT_EQ(value[0], static_cast<float>(mine.size() * (mine.size() - 1)) / 2);
  return part->wait();
}

TEST(NcclRanks, DoAllOperations) {
  for (const int ranks : {1, 2, 3}) {
    FakeNccl fake;
    for (const core::Status& status : run_all(fake, {.ranks = ranks}, [&](Collectives& mine) {
           return ranks == 1 ? mine.wait() : all_operations(mine);
         }))
      EXPECT_TRUE(status.ok()) << status.error().to_string();
    EXPECT_EQ(fake.alive(), 0U);
    EXPECT_FALSE(fake.was_aborted());
  }
}

TEST(NcclRanks, HaveSubsets) {
  for (const int ranks : {2, 3, 4}) {
    FakeNccl fake;
    for (const core::Status& status : run_all(fake, {.ranks = ranks}, sum_of_a_subset))
      EXPECT_TRUE(status.ok()) << status.error().to_string();
    EXPECT_EQ(fake.alive(), 0U);
    EXPECT_FALSE(fake.was_aborted());
  }
}

TEST(NcclRanks, FailWithTheirSubsets) {
  FakeNccl fake;
  const auto statuses = run_all(fake, {.ranks = 2}, [](Collectives& mine) -> core::Status {
    const std::vector<int> alone{mine.rank()};
    SOAPSTONE_ASSIGN_OR_RETURN(const auto part, mine.subset(alone));
    part->abort("no memory left");
    return mine.wait();
  });
  for (const core::Status& status : statuses) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "no memory left");
  }
  EXPECT_EQ(fake.alive(), 0U);
}

TEST(NcclRanks, SayWhatFailedWhicheverCallItWas) {
  const Program program = [](Collectives& mine) -> core::Status {
    SOAPSTONE_RETURN_IF_ERROR(all_operations(mine));
    return sum_of_a_subset(mine);
  };
  FakeNccl whole;
  run_all(whole, {}, program);
  for (int failing = 0; failing < whole.calls(); ++failing) {
    FakeNccl fake(failing);
    int failures = 0;
    for (const core::Status& status : run_all(fake, {}, program)) {
      if (status) continue;
      ++failures;
      EXPECT_EQ(status.error().code, core::ErrorCode::kUnavailable);
      EXPECT_TRUE(status.error().message.starts_with("nccl")) << status.error().message;
    }
    EXPECT_EQ(fake.alive(), 0U) << failing;
    EXPECT_GT(failures, 0) << failing;
  }
}

TEST(NcclRanks, DoNotWaitForEverForWork) {
  FakeNccl fake;
  const Setting setting{.ranks = 1, .stream_says = kNotReady, .limit = milliseconds(50)};
  const auto statuses = run_all(fake, setting, [](Collectives& mine) {
    const core::Status waited = mine.wait();
    EXPECT_FALSE(mine.wait().ok()) << "nothing further works";
    return waited;
  });
  ASSERT_FALSE(statuses[0].ok());
  EXPECT_EQ(statuses[0].error().message, "rank 0: a collective operation took longer than 50 ms");
  EXPECT_TRUE(fake.was_aborted());
  EXPECT_EQ(fake.alive(), 0U);
}

TEST(NcclRanks, DoNotWaitForEverForRanksThatDoNotCome) {
  FakeNccl fake;
  fake.hang();
  const auto statuses = run_all(fake, {.ranks = 2, .limit = milliseconds(50)},
                                [](Collectives& mine) { return mine.wait(); });
  for (const core::Status& status : statuses) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("ncclCommInitRankConfig took longer than 50 ms"),
              std::string::npos)
        << status.error().message;
  }
  EXPECT_EQ(fake.alive(), 0U);
}

TEST(NcclRanks, AreEndedFromAnotherThread) {
  FakeNccl fake;
  const Setting setting{.ranks = 1, .stream_says = kNotReady, .limit = std::chrono::seconds(30)};
  const auto statuses = run_all(fake, setting, [](Collectives& mine) {
    const std::jthread other([&] {
      std::this_thread::sleep_for(milliseconds(20));
      mine.abort("another rank has failed");
    });
    return mine.wait();
  });
  ASSERT_FALSE(statuses[0].ok());
  EXPECT_EQ(statuses[0].error().message, "another rank has failed");
}

TEST(NcclRanks, RefuseWhatCannotBe) {
  FakeNccl fake;
  run_all(fake, {.ranks = 1}, [](Collectives& mine) -> core::Status {
    std::vector<float> value{1};
    const runtime::Elements some{address_of(value), 1, DataType::kFloat32};
    EXPECT_EQ(mine.send(some, 1).error().code, core::ErrorCode::kInvalidInput);
    EXPECT_EQ(mine.subset({}).error().code, core::ErrorCode::kInvalidInput);
    EXPECT_EQ(
        mine.all_reduce({some.address, 1, DataType::kInt16}, some.address, runtime::Reduction::kSum)
            .error()
            .code,
        core::ErrorCode::kUnsupported);
    return mine.all_reduce(some, some.address, runtime::Reduction::kSum);
  });
}

TEST(NcclLibrary, IsFoundWhereItIsInstalled) {
  const auto nccl = load_nccl();
  if (!nccl) GTEST_SKIP() << nccl.error().to_string();
  int version = 0;
  EXPECT_EQ((*nccl)->version(&version), Nccl::kSuccess);
  EXPECT_GE(version, 21800);
  EXPECT_TRUE(make_nccl_id(**nccl).ok());
  EXPECT_FALSE(load_nccl("libno-such-nccl.so").ok());
}

}  // namespace
}  // namespace soapstone::gpu
