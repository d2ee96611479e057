// Graphs come to what their operators mean, whatever is fused, folded, viewed, converted or written
// in place, on the host as on a device that shares nothing with it.
#include "runtime/execution/executor.h"

#include <ostream>

#include "runtime/execution/fold.h"
#include "runtime/launches/layout.h"
#include "tests/runtime/random_graph.h"
#include "tests/runtime/remote_backend.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {
namespace {

struct Device {
  const char* name;
  std::unique_ptr<Backend> (*make)();
};
void PrintTo(const Device& device, std::ostream* out) { *out << device.name; }
constexpr Device kDevices[] = {
    {"Reference", make_reference_backend},
    {"ChannelsLast",
     []() -> std::unique_ptr<Backend> { return std::make_unique<ChannelsLastBackend>(); }},
    {"Remote", []() -> std::unique_ptr<Backend> { return std::make_unique<RemoteBackend>(); }},
};

class ExecutorTest : public testing::TestWithParam<Device> {
 protected:
  const std::unique_ptr<Backend> backend_ = GetParam().make();
};
INSTANTIATE_TEST_SUITE_P(Devices, ExecutorTest, testing::ValuesIn(kDevices),
                         [](const auto& test) { return std::string(test.param.name); });

/// Runs the graph on tensors of the caller, with memory that another graph used before.
std::vector<core::Literal> run_outside(const core::Graph& graph, Backend& backend,
                                       const std::vector<core::Literal>& inputs) {
  DeviceMemory& memory = backend.memory();
  WorkingMemory working(memory);
  auto program = Executable::make(graph, backend, {.working = &working});
  EXPECT_TRUE(program.ok()) << (program ? "" : program.error().to_string());
  std::vector<DeviceBlock> blocks;
  std::vector<DeviceAddress> from, to;
  for (const core::Literal& input : inputs) {
    blocks.push_back(memory.share(input.bytes()).value());
    from.push_back(blocks.back().address());
  }
  for (const core::TensorId output : graph.outputs()) {
    blocks.push_back(
        DeviceBlock::allocate(memory, storage_bytes(graph.tensor(output).type)).value());
    to.push_back(blocks.back().address());
  }
  const core::Status done = program->run_at(from, to);
  EXPECT_TRUE(done.ok()) << (done ? "" : done.error().to_string());
  std::vector<core::Literal> results;
  for (std::size_t k = 0; k < to.size(); ++k) {
    const core::TensorType& type = graph.tensor(graph.outputs()[k]).type;
    const HostBytes host = memory.read(to[k], storage_bytes(type)).value();
    results.push_back(core::Literal::copy(type.data_type, dims_of(type), host.bytes));
  }
  return results;
}

// A result may be what a kernel makes, an input, a constant, a view of either, a part of another
// result, or read again.
TEST_P(ExecutorTest, RunsOnTensorsOfTheCaller) {
  const core::Graph graph = parse(R"(
  x: f32[4, 6]
  c = full(; shape=[4, 6], value=2)
  y = add(x, c)
  z = relu(y)
  v = reshape(x; shape=[24])
  u = reshape(y; shape=[2, 12])
  w = concat(y, z; axis=0)
  return z, y, c, v, u, w
)");
  const std::vector<core::Literal> inputs = random_inputs(graph, 3);
  const auto wanted = executable(graph, *backend_).run(inputs);
  ASSERT_TRUE(wanted.ok());
  const std::vector<core::Literal> results = run_outside(graph, *backend_, inputs);
  for (std::size_t k = 0; k < results.size(); ++k)
    EXPECT_EQ(results[k], (*wanted)[k]) << "output " << k;
}

TEST_P(ExecutorTest, RunsFusedAndUnfused) {
  const core::Graph graph = parse(R"(
  x: f32[1, 3, 8, 8]
  w: f32[4, 3, 3, 3]
  b: f32[4, 1, 1]
  y = conv(x, w; pads=[1, 1, 1, 1])
  z = add(y, b)
  r = relu(z)
  t = conv(x, w; pads=[1, 1, 1, 1])
  s = add(r, t)
  q = relu(s)
  return q
)");
  for (Fusion fusion : {Fusion::kNone, Fusion::kActivation, Fusion::kFull})
    expect_right(graph, *backend_, fusion, 1e-6);
}

TEST_P(ExecutorTest, RunsRandomGraphs) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const core::Graph graph = RandomGraph(seed).make(20);
    expect_right(graph, *backend_, Fusion::kFull, 1e-4, seed);
  }
}

TEST_P(ExecutorTest, RunsAgainOnTheSameInputs) {
  const core::Graph graph = parse("\n  x: f32[8]\n  y = exp(x)\n  z = neg(y)\n  return z\n");
  Executable program = executable(graph, *backend_);
  const auto inputs = random_inputs(graph, 3);
  const auto first = program.run(inputs);
  ASSERT_TRUE(program.run_again().ok());
  const auto second = program.run(inputs);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)[0], (*second)[0]);
}

TEST_P(ExecutorTest, OutputsMayBeInputsConstantsAndViews) {
  const core::Graph graph = parse(R"(
  x: f32[2, 3]
  c: f32[2] = {3, 4}
  d = exp(c)
  r = reshape(x; shape=[6])
  return x, c, d, r
)");
  expect_right(graph, *backend_, Fusion::kFull);
  EXPECT_EQ(executable(graph, *backend_).report().launches, 0u);
}

TEST_P(ExecutorTest, ElementTypesSurvive) {
  const core::Graph graph = parse(R"(
  x: i64[4]
  y: f32[4]
  z = add(x, x)
  l = less(x, z)
  s = where(l, y, y)
  return z, l, s
)");
  Executable program = executable(graph, *backend_);
  const auto outputs = program.run(random_inputs(graph, 1, 100));
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].data_type(), core::DataType::kInt64);
  EXPECT_EQ((*outputs)[1].data_type(), core::DataType::kBool);
  EXPECT_EQ((*outputs)[2].data_type(), core::DataType::kFloat32);
}

TEST_P(ExecutorTest, RefusesWrongInputs) {
  const core::Graph graph = parse("\n  x: f32[2, 3]\n  y = relu(x)\n  return y\n");
  Executable program = executable(graph, *backend_);
  const std::vector<core::Literal> none,
      transposed = {core::Literal::floats({3, 2}, std::vector<float>(6))};
  EXPECT_EQ(program.run(none).error().code, core::ErrorCode::kInvalidInput);
  const core::Error error = program.run(transposed).error();
  EXPECT_EQ(error.code, core::ErrorCode::kInvalidInput);
  EXPECT_NE(error.message.find("`x` takes f32[2, 3], given was f32[3, 2]"), std::string::npos)
      << error.message;
}

TEST_P(ExecutorTest, RefusesOpenShapes) {
  const core::Graph graph = parse("\n  x: f32[n, 3]\n  y = relu(x)\n  return y\n");
  const auto program = Executable::make(graph, *backend_);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, core::ErrorCode::kUnsupported);
}

TEST_P(ExecutorTest, RefusesOpaqueNodes) {
  core::GraphBuilder builder;
  const core::TensorType type{core::DataType::kFloat32, core::to_shape({2}), true};
  const core::TensorId x = builder.add_input("x", type);
  const auto results = builder.add_node(ops::opaque_schema(),
                                        core::Attributes{{"domain", std::string()},
                                                         {"op_type", std::string("TopK")},
                                                         {"proto", std::string()}},
                                        {x}, {type}, "best");
  builder.set_outputs(results);
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const auto program = Executable::make(*graph, *backend_);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, core::ErrorCode::kUnsupported);
  EXPECT_NE(program.error().message.find("TopK of node `best`"), std::string::npos);
}

TEST(Executor, ReportsWhatItDoes) {
  const core::Graph graph = parse(R"(
  x: f32[256]
  c: f32[1] = {2}
  a = relu(x)
  b = tanh(a)
  d = mul(b, c)
  return d
)");
  const auto backend = make_reference_backend();
  const ExecutableReport report = executable(graph, *backend).report();
  EXPECT_EQ(report.launches, 3u);
  EXPECT_EQ(report.conversions, 0u);
  EXPECT_EQ(report.peak_activation_bytes, 2048u);
  EXPECT_EQ(report.arena_bytes, 2048u);
  EXPECT_EQ(report.constant_bytes, 4u);
  EXPECT_EQ(report.reference_kernels.size(), 3u);
}

TEST_P(ExecutorTest, FoldingKeepsWhatIsReadAndDropsTheRest) {
  const core::Graph graph = parse(R"(
  x: f32[2]
  c: f32[2] = {1, 2}
  d = exp(c)
  e = neg(d)
  s = reshape(e; shape=[2, 1])
  y = add(x, s)
  return y, d
)");
  const auto folded = fold_constants(graph, *backend_);
  ASSERT_TRUE(folded.ok());
  EXPECT_EQ(folded->size(), 2u);  // s, and d because it is an output
  expect_right(graph, *backend_, Fusion::kFull);
}

TEST(RandomInputs, AreTheSameEachTimeAndWithinBounds) {
  const core::Graph graph = parse("\n  x: f32[100]\n  i: i64[100]\n  b: bool[100]\n"
                                  "  y = relu(x)\n  return y, i, b\n");
  const auto a = random_inputs(graph, 7, 10), b = random_inputs(graph, 7, 10);
  const auto other = random_inputs(graph, 8, 10);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_NE(a[0], other[0]);
  for (double value : a[1].to_doubles()) EXPECT_TRUE(value >= 0 && value < 10);
  double negative = 0;
  for (double value : a[0].to_doubles()) negative += value < 0;
  EXPECT_TRUE(negative > 20 && negative < 80);
}

}  // namespace
}  // namespace soapstone::runtime::test
