// What is known of GPUs that are not here: which blocks fit, and how estimates order launches.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "gpu/making/kernel_request.h"
#include "gpu/targets/launch_estimate.h"
#include "gpu/targets/library_proposals.h"
#include "models/networks/builders.h"
#include "ops/definition/registry.h"
#include "runtime/launches/launch_plan.h"
#include "tests/gpu/fake_libraries.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

using core::DataType;

/// Values of NVIDIA's occupancy calculator for blocks of 256 threads.
TEST(Occupancy, FollowsRegisters) {
  const Target& h200 = *find_target("h200");
  const auto blocks = [&](int registers) {
    return resident_blocks(h200, {{}, registers, 0, 0}, 256);
  };
  EXPECT_EQ(blocks(24), 8);
  EXPECT_EQ(blocks(64), 4);
  EXPECT_EQ(blocks(128), 2);
  EXPECT_EQ(blocks(255), 1);
}

TEST(Occupancy, FollowsSharedMemoryAndBlocks) {
  const Target& a100 = *find_target("a100");
  EXPECT_EQ(resident_blocks(a100, {{}, 32, 0, 0}, 32), 32) << "no more blocks than there may be";
  EXPECT_EQ(resident_blocks(a100, {{}, 32, 0, 48 << 10}, 128), 3);
  EXPECT_EQ(resident_blocks(a100, {{}, 32, 0, 200 << 10}, 128), 0) << "one block is too large";
  EXPECT_EQ(resident_blocks(a100, {{}, 32, 0, 0}, 1024), 2);
}

TEST(Targets, AreFoundByNameAndByKey) {
  for (const Target& target : known_targets()) {
    EXPECT_EQ(find_target(target.name), &target);
    EXPECT_EQ(target_of_key(target.device_name + " (sm_90); CUDA driver 13.0; threads 1"), &target);
    EXPECT_GT(target.kind().memory_bytes_per_s, 1e12);
  }
  EXPECT_EQ(find_target("h2000"), nullptr);
  EXPECT_EQ(target_of_key("NVIDIA H200 NVL (sm_90); CUDA driver 13.0; threads 1"), nullptr);
}

TEST(Targets, PlanButDoNotRun) {
  const auto backend = make_absent_backend(*find_target("h100"));
  const auto queue = backend->make_queue();
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().code, core::ErrorCode::kUnavailable);
}

class Estimates : public testing::Test {
 protected:
  /// Of one operator on inputs of these sizes.
  double us(std::string_view op, const std::vector<core::Dims>& inputs, double flops, double bytes,
            DataType type = DataType::kFloat32, const char* target = "h200") {
    core::GraphBuilder builder("estimated");
    std::vector<core::TensorId> tensors;
    for (const core::Dims& dims : inputs)
      tensors.push_back(builder.add_input(std::string(1, static_cast<char>('a' + tensors.size())),
                                          {type, core::to_shape(dims), true}));
    auto results = ops::append(builder, op, std::move(tensors));
    EXPECT_TRUE(results);
    builder.set_outputs(*results);
    const auto graph = std::move(builder).finish();
    const auto plan =
        runtime::plan_launches(*graph, runtime::generic_fusion(runtime::Fusion::kFull));
    LaunchEstimator estimator(*find_target(target), folder_);
    return estimator.launch_us(*graph, plan.launches.front(), {flops, bytes});
  }
  const std::filesystem::path& folder() const { return folder_; }
  double matmul_us(std::int64_t n, DataType type = DataType::kFloat32, const char* on = "h200") {
    const auto d = static_cast<double>(n);
    return us("matmul", {{n, n}, {n, n}}, 2 * d * d * d,
              3 * d * d * static_cast<double>(core::size_bytes(type)), type, on);
  }
  double add_us(std::int64_t n, const char* on = "h200") {
    const auto d = static_cast<double>(n);
    return us("add", {{n}, {n}}, d, 12 * d, DataType::kFloat32, on);
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / "soapstone-estimated-kernels";
};

TEST_F(Estimates, AreNearThePeaksWhereLaunchesAreLarge) {
  const double flops = 2.0 * 8192 * 8192 * 8192;
  const double rate = find_target("h200")->kind().flops_per_s.at(DataType::kBFloat16);
  const double share = flops / (matmul_us(8192, DataType::kBFloat16) / 1e6) / rate;
  EXPECT_GT(share, 0.6);
  EXPECT_LT(share, 0.95);
  const double bytes = 12.0 * (1 << 26);
  const double of_bandwidth =
      bytes / (add_us(1 << 26) / 1e6) / find_target("h200")->kind().memory_bytes_per_s;
  EXPECT_GT(of_bandwidth, 0.8);
  EXPECT_LT(of_bandwidth, 1);
}

TEST_F(Estimates, OfSmallLaunchesAreThoseOfALaunch) {
  EXPECT_LT(add_us(16), 5);
  EXPECT_GT(add_us(16), find_target("h200")->launch_us);
  EXPECT_LT(matmul_us(64), 10);
}

/// A softmax that is stored across rows moves seven times its result in vain.
TEST_F(Estimates, CountWholeSectors) {
  const auto us = [&](const std::string& behind) {
    const core::Graph graph = soapstone::graph_of(
        "graph g\n  x: f32[8192, 4096]\n  y = softmax(x; axis=1)\n" + behind + "\n");
    runtime::Launch launch;
    launch.head = graph.order()[0];
    launch.others.assign(graph.order().begin() + 1, graph.order().end());
    launch.inputs = {graph.inputs()[0]};
    launch.outputs = {graph.outputs()[0]};
    const Work work{0, 2.0 * 8192 * 4096 * 4};
    return LaunchEstimator(*find_target("h200"), folder()).launch_us(graph, launch, work);
  };
  const double along = us("  return y"), across = us("  z = transpose(y; perm=[1, 0])\n  return z");
  EXPECT_GT(across, 4 * along);
  EXPECT_LT(across, 5 * along);
}

/// A transpose through tiles moves what it needs.
TEST_F(Estimates, OfTransposesAreNearThoseOfCopies) {
  const core::Graph graph = soapstone::graph_of(
      "graph g\n  x: f32[8192, 4096]\n  y = transpose(x; perm=[1, 0])\n  return y\n");
  const auto plan = runtime::plan_launches(graph, runtime::generic_fusion(runtime::Fusion::kFull));
  const double bytes = 2.0 * 8192 * 4096 * 4;
  LaunchEstimator estimator(*find_target("h200"), folder());
  const double ratio =
      estimator.launch_us(graph, plan.launches.front(), {0, bytes}) / estimator.copy_us(bytes);
  EXPECT_GE(ratio, 1);
  EXPECT_LT(ratio, 1.1);
}

/// One tile that no other multiprocessor helps with takes longer than its share of the card's rate.
TEST_F(Estimates, KnowThatSmallContractionsFillNoCard) {
  const double work = 2.0 * 256 * 256 * 256;
  const double at_peak_us =
      work / find_target("h200")->kind().flops_per_s.at(DataType::kFloat32) * 1e6;
  EXPECT_GT(matmul_us(256), 4 * at_peak_us);
}

/// Where no library has a launch it is computed in parts, or by a generated kernel.
TEST_F(Estimates, KnowWhatNoLibraryHas) {
  const core::Graph graph = soapstone::graph_of(
      "graph g\n  x: f16[8, 64, 28, 28]\n  w: f16[64, 64, 3, 3]\n  t = conv(x, w)\n"
      "  y = relu(t)\n  return y\n");
  const auto plan = runtime::plan_launches(graph, runtime::generic_fusion(runtime::Fusion::kFull));
  ASSERT_EQ(plan.launches.size(), 1u);
  test::FakeCudnn fake;
  auto without = std::make_shared<Cudnn>(*fake.library());
  without->get_attribute = [](void*, int, int, std::int64_t, std::int64_t* count, void*) {
    *count = 0;
    return 0;
  };
  const Target& h100 = *find_target("h100");
  const Work work{2.0 * 8 * 64 * 26 * 26 * 576, 2.0 * (8 * 64 * (784 + 676) + 64 * 576)};
  const auto us = [&](std::shared_ptr<const Cudnn> cudnn) {
    return LaunchEstimator(h100, std::filesystem::temp_directory_path() / "soapstone-estimated",
                           std::move(cudnn))
        .launch_us(graph, plan.launches[0], work);
  };
  const double between = 2.0 * 8 * 64 * 676 * 2 / h100.kind().memory_bytes_per_s * 1e6;
  EXPECT_EQ(us(fake.library()), us(nullptr));
  EXPECT_GT(us(without), us(nullptr) + between);
}

/// cuDNN says into how many parts it divides a long sum, what workspace that takes, and how much
/// shared memory; the limit of workspaces applies.
TEST(Proposals, SayWhatCudnnWouldRun) {
  const auto cudnn = cudnn_for_absent_cards();
  if (!cudnn) GTEST_SKIP() << "there is no cuDNN, or no driver nor stub";
  const core::Graph graph = soapstone::graph_of(
      "graph g\n  x: f16[64, 8192]\n  w: f16[8192, 64]\n  y = matmul(x, w)\n  return y\n");
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  auto operations = operation_graph_of(graph, nodes, graph.outputs());
  ASSERT_TRUE(operations.ok());
  const auto made = CudnnGraph::make(cudnn, *std::move(operations));
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  const auto device = described_device(*cudnn, cudnn_properties(*find_target("h100")));
  ASSERT_TRUE(device.ok());
  const auto found = made->configurations(*device, cudnn::HeuristicMode::kA, FloatMath::kExact);
  ASSERT_TRUE(found.ok() && !found->empty());
  const auto proposal = proposal_of(found->front());
  ASSERT_TRUE(proposal.ok()) << proposal.error().to_string();
  EXPECT_GT(proposal->parts, 1);
  EXPECT_GT(proposal->workspace_bytes, 64u * 64 * sizeof(float));
  EXPECT_GT(proposal->shared_bytes.value_or(0), 1024);
}

TEST(Proposals, HaveEnginesForConvolutionsOfKnownCards) {
  const auto cudnn = cudnn_for_absent_cards();
  if (!cudnn) GTEST_SKIP() << "there is no cuDNN, or no driver nor stub";
  for (const char* type : {"f16", "f32"}) {
    const core::Graph graph =
        soapstone::graph_of(fmt::format("graph g\n  x: {0}[8, 64, 28, 28]\n  w: {0}[64, 64, 3, 3]\n"
                                        "  y = conv(x, w)\n  return y\n",
                                        type));
    const auto plan =
        runtime::plan_launches(graph, runtime::generic_fusion(runtime::Fusion::kFull));
    for (const Target& target : known_targets()) {
      const auto answer = LibraryProposals(target, cudnn).ask(graph, plan.launches.at(0));
      EXPECT_TRUE(answer.has_engine) << type << " on " << target.name;
      EXPECT_LE(answer.proposal.workspace_bytes, GpuOptions{}.workspace_limit);
    }
  }
}

TEST_F(Estimates, OrderDevices) {
  EXPECT_LT(add_us(1 << 26, "h200"), add_us(1 << 26, "h100"));
  EXPECT_LT(add_us(1 << 26, "h100"), add_us(1 << 26, "a100"));
  EXPECT_LT(matmul_us(4096, DataType::kFloat16), matmul_us(4096));
  for (const std::int64_t n : {64, 256, 1024, 4096}) EXPECT_LT(matmul_us(n), matmul_us(2 * n));
}

}  // namespace
}  // namespace soapstone::gpu
