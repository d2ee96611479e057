// Operation graphs of cuDNN without a device: made for what networks launch, refused where shapes
// are wrong, planned for devices of which only the properties are known.
#include <gtest/gtest.h>

#include <set>

#include "gpu/libraries/cudnn_graph.h"
#include "gpu/targets/target.h"
#include "models/networks/builders.h"
#include "ops/definition/registry.h"
#include "runtime/launches/execution_plan.h"
#include "tests/gpu/cudnn_names_check.h"
#include "tests/gpu/fake_libraries.h"
#include "tests/models/small_sizes.h"
#include "tests/support/graphs.h"

namespace soapstone::gpu {
namespace {

std::shared_ptr<const Cudnn> cudnn_library() {
  static const auto loaded = load_cudnn();
  return loaded ? *loaded : nullptr;
}

#define NEEDS_CUDNN() \
  if (!cudnn_library()) GTEST_SKIP() << "there is no cuDNN"

/// Launches that libraries may have something for.
bool is_for_libraries(const core::Graph& graph, const runtime::Launch& launch) {
  const core::Node& head = graph.node(launch.head);
  if (!core::is_floating(graph.tensor(head.outputs[0]).type.data_type)) return false;
  switch (ops::definition_of(head)->op_class) {
  case ops::OpClass::kContraction:
    return true;
  case ops::OpClass::kReduction:
    return head.op->operand_role(0) == core::OperandRole::kImage;
  case ops::OpClass::kNormalization:
    return head.op->has_operand(core::OperandRole::kFeatures);
  default:
    return false;
  }
}

class CudnnNetworks : public ::testing::TestWithParam<std::string> {};

/// All convolutions, products, pools and norms, with what stands behind them.
TEST_P(CudnnNetworks, AreFinalized) {
  NEEDS_CUDNN();
  int made = 0;
  for (const core::DataType type : {core::DataType::kFloat32, core::DataType::kFloat16}) {
    models::NetworkOptions options;
    options.type = type;
    const auto built = models::build_network(GetParam(), models::few_repeats(GetParam()), options);
    ASSERT_TRUE(built.ok()) << built.error().to_string();
    std::set<std::string> seen;
    for (const runtime::Launch& launch :
         runtime::plan_launches(built->graph, runtime::generic_fusion(runtime::Fusion::kFull))
             .launches) {
      const std::string signature = runtime::launch_signature(built->graph, launch);
      if (!is_for_libraries(built->graph, launch) || !seen.insert(signature).second) continue;
      auto operations = operation_graph_of(built->graph, launch.nodes(), launch.outputs);
      ASSERT_TRUE(operations.ok()) << signature << ": " << operations.error().to_string();
      const auto graph = CudnnGraph::make(cudnn_library(), *std::move(operations));
      ASSERT_TRUE(graph.ok()) << signature << ": " << graph.error().to_string();
      EXPECT_GT(graph->engine_count().value(), 0) << signature;
      ++made;
    }
  }
  EXPECT_GT(made, 1);
}

std::vector<std::string> cudnn_networks() {
  std::vector<std::string> names;
  for (const models::ModelBuilder& builder : models::builders()) names.push_back(builder.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, CudnnNetworks, ::testing::ValuesIn(cudnn_networks()),
                         [](const auto& network) { return network.param; });

OperationGraph operations_of(const std::string& text, runtime::Layout layout) {
  const core::Graph graph = soapstone::graph_of("graph g\n  " + text + "\n");
  const std::vector<core::NodeId> nodes(graph.order().begin(), graph.order().end());
  TensorLayouts layouts;
  for (std::size_t t = 0; t < graph.tensor_bound(); ++t)
    if (graph.contains(core::TensorId(t)) && graph.tensor(core::TensorId(t)).type.shape.size() == 4)
      layouts.emplace(core::TensorId(t), layout);
  auto operations = operation_graph_of(graph, nodes, graph.outputs(), layouts);
  EXPECT_TRUE(operations.ok()) << (operations ? "" : operations.error().to_string());
  return *std::move(operations);
}

constexpr const char* kConvolution =
    "x: f16[16, 128, 32, 32]\n  w: f16[256, 128, 3, 3]\n  y = conv(x, w; pads=[1, 1, 1, 1])\n"
    "  return y";

TEST(Cudnn, RefusesWrongShapes) {
  NEEDS_CUDNN();
  for (const runtime::Layout layout :
       {runtime::Layout::kRowMajor, runtime::Layout::kChannelsLast}) {
    OperationGraph operations = operations_of(kConvolution, layout);
    ASSERT_TRUE(CudnnGraph::make(cudnn_library(), operations).ok());
    ++operations.tensors[operations.operations[0].output].dims[2];
    const auto wrong = CudnnGraph::make(cudnn_library(), operations);
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().code, core::ErrorCode::kUnsupported);
    EXPECT_NE(wrong.error().message.find("2000 (CUDNN_STATUS_BAD_PARAM)"), std::string::npos)
        << wrong.error().message;
  }
}

/// Heuristics and plans of precompiled engines need the properties of a device, but no device.
TEST(Cudnn, PlansForDevicesThatAreNotThere) {
  NEEDS_CUDNN();
  for (const Target& known : known_targets()) {
    const auto device = described_device(*cudnn_library(), cudnn_properties(known));
    ASSERT_TRUE(device.ok()) << known.name << ": " << device.error().to_string();
    const auto graph = CudnnGraph::make(
        cudnn_library(), operations_of(kConvolution, runtime::Layout::kChannelsLast));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    for (const auto mode :
         {cudnn::HeuristicMode::kA, cudnn::HeuristicMode::kB, cudnn::HeuristicMode::kFallback}) {
      const auto configurations = graph->configurations(*device, mode, FloatMath::kTensorFloat32);
      ASSERT_TRUE(configurations.ok()) << configurations.error().to_string();
      std::size_t planned = 0;
      for (const CudnnDescriptor& configuration : *configurations)
        planned += make_plan(*cudnn_library(), configuration, *device).ok();
      EXPECT_GT(planned, 0u) << known.name << " " << static_cast<int>(mode);
    }
  }
}

/// One more row than a product, or a pool, has.
TEST(Cudnn, RefusesWrongShapesOfProductsAndPools) {
  NEEDS_CUDNN();
  for (const char* text :
       {"x: f16[64, 32]\n  w: f16[32, 48]\n  y = matmul(x, w)\n  return y",
        "x: f16[4, 32, 16, 16]\n  y = max_pool(x; kernel=[2, 2], strides=[2, 2])\n  return y"}) {
    OperationGraph operations = operations_of(text, runtime::Layout::kRowMajor);
    ASSERT_TRUE(CudnnGraph::make(cudnn_library(), operations).ok()) << text;
    auto& dims = operations.tensors[operations.operations[0].output].dims;
    ++dims[dims.size() - 2];
    const auto wrong = CudnnGraph::make(cudnn_library(), operations);
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_NE(wrong.error().message.find("2000 (CUDNN_STATUS_BAD_PARAM)"), std::string::npos)
        << text << ": " << wrong.error().message;
  }
}

TEST(Cudnn, ComputesAsExactlyAsItIsTold) {
  NEEDS_CUDNN();
  const auto device = described_device(*cudnn_library(), cudnn_properties(*find_target("h100")));
  std::string text = kConvolution;
  for (std::size_t at; (at = text.find("f16")) != std::string::npos;) text.replace(at, 3, "f32");
  const auto graph =
      CudnnGraph::make(cudnn_library(), operations_of(text, runtime::Layout::kRowMajor));
  ASSERT_TRUE(device.ok() && graph.ok());
  const auto rounded =
      graph->configurations(*device, cudnn::HeuristicMode::kB, FloatMath::kTensorFloat32);
  const auto exact = graph->configurations(*device, cudnn::HeuristicMode::kB, FloatMath::kExact);
  ASSERT_TRUE(rounded.ok() && exact.ok());
  EXPECT_GT(exact->size(), 0u);
  EXPECT_LT(exact->size(), rounded->size());
}

TEST(Cudnn, AsksForAllPropertiesOfADevice) {
  NEEDS_CUDNN();
  const auto device = described_device(*cudnn_library(), "{}");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, core::ErrorCode::kUnsupported);
}

TEST(Cudnn, IsNotThere) {
  for (const char* name : {"libcudnn_that_nobody_has.so", "libm.so.6"}) {
    const auto none = load_cudnn(name);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, core::ErrorCode::kUnavailable);
  }
}

/// Whichever call fails, one message says so and every descriptor is given back.
TEST(Cudnn, LosesNothingWhicheverCallFails) {
  const OperationGraph operations =
      operations_of("x: f32[2, 3, 8, 8]\n  w: f32[4, 3, 3, 3]\n  b: f32[4]\n  t = conv(x, w, b)\n"
                    "  y = relu(t)\n  return y",
                    runtime::Layout::kRowMajor);
  const auto plan = [&](test::FakeCudnn& fake) -> core::Status {
    const auto library = fake.library();
    SOAPSTONE_ASSIGN_OR_RETURN(const auto device, described_device(*library, "{}"));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto graph, CudnnGraph::make(library, operations));
    SOAPSTONE_ASSIGN_OR_RETURN(
        const auto configurations,
        graph.configurations(device, cudnn::HeuristicMode::kA, FloatMath::kExact));
    const auto made = make_plan(*library, configurations.at(0), device);
    return made ? core::Status(core::Done{}) : made.error();
  };
  test::FakeCudnn whole;
  ASSERT_TRUE(plan(whole).ok());
  EXPECT_EQ(whole.alive(), 0u);
  for (int k = 0; k < whole.calls(); ++k) {
    test::FakeCudnn fake(k);
    const core::Status status = plan(fake);
    EXPECT_EQ(fake.alive(), 0u) << "call " << k;
    EXPECT_FALSE(status.ok()) << "call " << k;
    if (status) continue;
    EXPECT_EQ(status.error().code, core::ErrorCode::kUnavailable);
    EXPECT_NE(status.error().message.find("5000 (A_TEST)"), std::string::npos)
        << status.error().message;
  }
}

}  // namespace
}  // namespace soapstone::gpu
