// The seams to a device: who owns its memory, what is copied and what is not, when errors come, and
// whose clock counts.
#include <cstring>

#include "runtime/device/host_memory.h"
#include "runtime/execution/fold.h"
#include "runtime/memory/memory_use.h"
#include "tests/runtime/random_graph.h"
#include "tests/runtime/remote_backend.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::runtime::test {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + 1);
  return bytes;
}

TEST(HostMemory, AllocatesZerosOnCacheLines) {
  HostMemory memory;
  const auto block = DeviceBlock::allocate(memory, 100);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->address().value() % 64, 0u);
  const auto host = memory.read(block->address(), 100);
  ASSERT_TRUE(host.ok());
  for (std::byte byte : host->bytes) EXPECT_EQ(byte, std::byte{0});
}

TEST(HostMemory, SharesAndHandsOverWithoutACopy) {
  HostMemory memory;
  const std::vector<std::byte> bytes = some_bytes(64);
  const auto shared = memory.share(bytes);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(host_pointer(shared->address()), bytes.data());
  auto block = DeviceBlock::allocate(memory, bytes.size());
  ASSERT_TRUE(block.ok() && memory.copy_in(block->address(), bytes).ok());
  const std::byte* const place = host_pointer(block->address());
  const auto host = memory.hand_over(*std::move(block), bytes.size());
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->bytes.data(), place);
  EXPECT_TRUE(std::ranges::equal(host->bytes, bytes));
}

TEST(HostMemory, SaysThatThereIsNotEnough) {
  HostMemory memory;
  const auto block = DeviceBlock::allocate(memory, std::size_t{1} << 60);
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, core::ErrorCode::kUnavailable);
}

TEST(DeviceBlock, HasOneOwner) {
  RemoteMemory memory;
  {
    auto first = *DeviceBlock::allocate(memory, 8);
    DeviceBlock second = std::move(first);
    EXPECT_FALSE(first.address());  // NOLINT(bugprone-use-after-move): nowhere is what it promises
    EXPECT_TRUE(second.address());
    EXPECT_EQ(memory.live_blocks(), 1u);
    second = *DeviceBlock::allocate(memory, 8);
    EXPECT_EQ(memory.live_blocks(), 1u);
    const DeviceBlock borrowed = DeviceBlock::borrowed(second.address());
  }
  EXPECT_EQ(memory.live_blocks(), 0u);
}

TEST(DeviceMemory, SharesAndHandsOverByCopies) {
  RemoteMemory memory;
  const std::vector<std::byte> bytes = some_bytes(100);
  auto block = memory.share(bytes);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(memory.live_blocks(), 1u);
  const auto host = memory.hand_over(*std::move(block), bytes.size());
  ASSERT_TRUE(host.ok());
  EXPECT_TRUE(std::ranges::equal(host->bytes, bytes));
  EXPECT_EQ(memory.live_blocks(), 0u);
}

/// A table of three rows, looked up where `rows` says.
core::Graph lookup() {
  return parse(R"(
  table: f32[3, 2]
  rows: i64[2]
  t = tanh(table)
  y = gather(t, rows; axis=0)
  z = neg(y)
  return z
)");
}

TEST(Device, ErrorsComeWithTheNodeAndLeaveTheQueueUsable) {
  const core::Graph graph = lookup();
  RemoteBackend remote;
  const auto reference = make_reference_backend();
  std::vector<core::Literal> inputs = random_inputs(graph, 1);
  const std::vector<std::int64_t> out_of_range = {0, 7};
  const core::Literal right = inputs[1], wrong = core::Literal::ints({2}, out_of_range);
  for (Backend* backend : std::initializer_list<Backend*>{&remote, reference.get()}) {
    Executable program = executable(graph, *backend);
    inputs[1] = wrong;
    const auto failed = program.run(inputs);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, core::ErrorCode::kInvalidInput);
    EXPECT_EQ(failed.error().where.rfind("gather `", 0), 0u) << failed.error().to_string();
    inputs[1] = right;
    const auto again = program.run(inputs);
    ASSERT_TRUE(again.ok()) << again.error().to_string();
    expect_close((*again)[0].to_doubles(), expected(graph, inputs)[0], 1e-6, "after an error");
  }
}

TEST(Device, FoldsToTheSameBytes) {
  const core::Graph graph = parse(R"(
  x: f32[2, 3]
  c: f32[3] = {1, 2, 3}
  d = exp(c)
  r = reshape(d; shape=[3, 1])
  e = transpose(r; perm=[1, 0])
  y = add(x, e)
  return y, d
)");
  const auto reference = make_reference_backend();
  FoldedConstants folded;
  {
    RemoteBackend remote;
    folded = *fold_constants(graph, remote);
    EXPECT_EQ(remote.memory().live_blocks(), 0u);
  }
  const auto wanted = *fold_constants(graph, *reference);
  ASSERT_EQ(folded.size(), wanted.size());
  for (const auto& [id, value] : wanted) EXPECT_EQ(*folded.at(id), *value);
}

/// Two products with one weight of 64 KiB, and one with a small one.
core::Graph shared_weight() {
  const auto weight = std::make_shared<const core::Literal>(
      core::Literal::floats({128, 128}, std::vector<float>(std::size_t{128} * 128, 0.01F)));
  const auto small = std::make_shared<const core::Literal>(
      core::Literal::floats({128, 2}, std::vector<float>(256, 0.5F)));
  core::GraphBuilder builder("shared");
  const core::TensorId w = builder.add_constant(weight), v = builder.add_constant(small);
  core::TensorId x = builder.add_input("x", {core::DataType::kFloat32, core::to_shape({4, 128})});
  for (core::TensorId right : {w, w, v}) x = (*ops::append(builder, "matmul", {x, right}))[0];
  builder.set_outputs({x});
  return *std::move(builder).finish();
}

TEST(Device, GetsOnlyTheWeightsThatNoKernelHolds) {
  const core::Graph graph = shared_weight();
  const auto inputs = random_inputs(graph, 1);
  for (const bool hold : {true, false}) {
    RemoteBackend remote;
    auto program = Executable::make(graph, remote, {.hold_shared_weights = hold});
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(remote.memory().copies_in, hold ? 0u : 1u);
    const auto outputs = program->run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
    expect_close((*outputs)[0].to_doubles(), expected(graph, inputs)[0], 1e-4, "shared weight");
  }
}

TEST(Device, GetsItsMemoryBack) {
  RemoteBackend remote;
  for (unsigned seed = 0; seed < 10; ++seed) {
    const core::Graph graph = RandomGraph(seed).make(20);
    Executable program = executable(graph, remote);
    ASSERT_TRUE(program.run(random_inputs(graph, seed)).ok());
    EXPECT_GT(remote.memory().live_blocks(), 0u);
  }
  EXPECT_EQ(remote.memory().live_blocks(), 0u);
}

TEST(Device, HoldsWhatWasForetold) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const core::Graph graph = RandomGraph(seed).make(20);
    RemoteBackend remote;
    const MemoryUse foretold = memory_use(graph, remote, Fusion::kFull);
    const Executable program = executable(graph, remote);
    EXPECT_EQ(program.report().arena_bytes, foretold.peak_bytes);
    EXPECT_EQ(program.report().peak_activation_bytes, foretold.live_bytes);
    EXPECT_EQ(remote.memory().live_bytes(),
              foretold.peak_bytes + foretold.input_bytes + RemoteKernel::kScratchBytes);
  }
}

TEST(Device, TooSmallADeviceIsAnError) {
  const core::Graph graph = parse("\n  x: f32[64]\n  y = exp(x)\n  z = tanh(y)\n  return z\n");
  RemoteBackend remote;
  remote.memory().capacity = 255;
  const auto program = Executable::make(graph, remote);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message, "the remote device is full");
  EXPECT_EQ(remote.memory().live_blocks(), 0u);
}

TEST(Device, FailedCopiesAreErrors) {
  const core::Graph graph = parse("\n  x: f32[8]\n  y = exp(x)\n  return y\n");
  RemoteBackend remote;
  Executable program = executable(graph, remote);
  const auto inputs = random_inputs(graph, 1);
  ASSERT_TRUE(program.run(inputs).ok());
  remote.memory().fails = true;
  const auto outputs = program.run(inputs);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().message, "the remote device is gone");
}

TEST(Device, CountsTimeItself) {
  const core::Graph graph =
      parse("\n  x: f32[8]\n  y = exp(x)\n  z = tanh(y)\n  w = neg(z)\n  return w\n");
  RemoteBackend remote;
  Executable program = executable(graph, remote);
  ASSERT_TRUE(program.run(random_inputs(graph, 1)).ok());
  EXPECT_EQ(program.time_us(1).value(), 3 * kRemoteKernelUs);
  EXPECT_EQ(program.time_us(10).value(), 30 * kRemoteKernelUs);
}

}  // namespace
}  // namespace soapstone::runtime::test
