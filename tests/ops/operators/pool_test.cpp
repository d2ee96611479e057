// Pooling against plain loops: which positions count under padding and beyond it.
#include <limits>

#include "ops/definition/indexing.h"
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

struct Pool1d {
  std::int64_t size, kernel, stride, dilation, begin, end;
  bool ceil, count_padding;
};

core::Graph pool_graph(const char* op, const Pool1d& p) {
  const auto list = [](std::int64_t value) { return std::vector<Polynomial>{value}; };
  core::Attributes attributes{{"kernel", list(p.kernel)},
                              {"strides", list(p.stride)},
                              {"dilations", list(p.dilation)},
                              {"pads", std::vector<Polynomial>{p.begin, p.end}},
                              {"ceil_mode", Polynomial(p.ceil ? 1 : 0)}};
  if (std::string_view(op) == "average_pool")
    attributes.set("count_include_pad", Polynomial(p.count_padding ? 1 : 0));
  core::GraphBuilder builder;
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {1, 1, p.size}});
  builder.set_outputs(append(builder, op, {x}, attributes).value());
  return std::move(builder).finish().value();
}

/// Maxima and means window by window, until a window would begin behind the input and the padding
/// before it, or (without ceil) reach beyond the padding.
void loops(const Pool1d& p, const Values& x, Values& maxima, Values& means) {
  for (std::int64_t start = -p.begin; start < p.size; start += p.stride) {
    const std::int64_t last = start + p.dilation * (p.kernel - 1);
    const std::int64_t overhang = last - (p.size + p.end - 1);
    if (overhang > 0 && (!p.ceil || overhang >= p.stride)) break;
    double largest = -std::numeric_limits<double>::infinity(), total = 0, count = 0;
    for (std::int64_t k = 0; k < p.kernel; ++k) {
      const std::int64_t at = start + k * p.dilation;
      if (at >= 0 && at < p.size) {
        largest = std::max(largest, x[static_cast<std::size_t>(at)]);
        total += x[static_cast<std::size_t>(at)];
        ++count;
      } else if (p.count_padding && at < p.size + p.end) {
        ++count;
      }
    }
    maxima.push_back(largest);
    means.push_back(total / count);
  }
}

TEST(Pool, AgreesWithLoops) {
  const Pool1d cases[] = {
      {7, 3, 1, 1, 0, 0, false, false}, {7, 3, 2, 1, 1, 1, false, false},
      {7, 3, 2, 1, 1, 1, false, true},  {6, 3, 2, 1, 0, 0, true, false},
      {6, 3, 2, 1, 1, 0, true, true},   {2, 3, 3, 1, 1, 1, true, true},
      {9, 3, 2, 2, 2, 3, false, false}, {9, 3, 2, 2, 2, 3, true, true},
      {8, 2, 3, 1, 0, 1, true, false},  {5, 4, 4, 1, 3, 3, true, true},
  };
  for (const Pool1d& p : cases) {
    SCOPED_TRACE(&p - cases);
    const core::Graph max_graph = pool_graph("max_pool", p);
    const core::Graph mean_graph = pool_graph("average_pool", p);
    const auto inputs = random_inputs(max_graph, 7);
    Values maxima, means;
    loops(p, inputs[0], maxima, means);
    expect_near(run(max_graph, inputs)[0], maxima);
    expect_near(run(mean_graph, inputs)[0], means);
  }
}

TEST(Pool, GlobalAverageIsTheMean) {
  const core::Graph graph = graph_of("x: f32[1, 2, 2, 3]", "global_average_pool(x)");
  expect_near(run(graph, {counting(12)})[0], {2.5, 8.5});
}

TEST(Pool, RefusesWhatDoesNotFit) {
  const char* x = "x: f32[1, 2, 5, 5]";
  const Refusal refusals[] = {
      {"average_pool.element_type", "x: i64[1, 2, 5, 5]", "average_pool(x; kernel=[3, 3])"},
      {"max_pool.rank", "x: f32[5, 5]", "max_pool(x; kernel=[])"},
      {"max_pool.kernel_rank", x, "max_pool(x; kernel=[3])"},
      {"max_pool.window_rank", x, "max_pool(x; kernel=[3, 3], dilations=[1])"},
      {"max_pool.strides", x, "max_pool(x; kernel=[3, 3], strides=[0, 1])"},
      {"max_pool.dilations", x, "max_pool(x; kernel=[3, 3], dilations=[0, 1])"},
      {"max_pool.kernel", x, "max_pool(x; kernel=[0, 3])"},
      {"max_pool.pads", x, "max_pool(x; kernel=[3, 3], pads=[-1, 0, 0, 0])"},
      {"max_pool.window_fits", x, "max_pool(x; kernel=[6, 3])"},
      {"max_pool.padding", x, "max_pool(x; kernel=[2, 2], pads=[2, 0, 0, 0])"},
      {"max_pool.padding", x, "max_pool(x; kernel=[2, 2], pads=[0, 0, 0, 2])"},
      {"max_pool.padding", "x: f32[1, 1, 1, 5]",
       "max_pool(x; kernel=[2, 2], dilations=[2, 1], pads=[1, 0, 1, 0])"},
      {"average_pool.padding", x, "average_pool(x; kernel=[2, 2], pads=[2, 0, 0, 0])"},
      {"max_pool.concrete", "x: f32[1, 2, n, 5]", "max_pool(x; kernel=[3, 3], ceil_mode=n)"},
      {"global_average_pool.rank", "x: f32[5, 5]", "global_average_pool(x)"},
      {"global_average_pool.element_type", "x: i64[1, 2, 5]", "global_average_pool(x)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

OnnxGraph onnx_pool(OnnxNode node) {
  OnnxGraph onnx;
  onnx.inputs = {{"x", {core::DataType::kFloat32, {1, 1, 5, 5}}}};
  onnx.outputs = {"y"};
  node.inputs = {"x"};
  node.attributes.emplace_back("kernel_shape", std::vector<std::int64_t>{2, 2});
  onnx.nodes = {std::move(node)};
  return onnx;
}

TEST(Pool, KeepsOpaqueWhatItCannotSay) {
  const OnnxNode nodes[] = {
      {"MaxPool", "", {}, {"y", "indices"}, {}},
      {"MaxPool", "", {}, {"y"}, {{"pads", Ints{2, 2, 2, 2}}}},
      {"AveragePool", "", {}, {"y"}, {{"auto_pad", "VALID"}, {"ceil_mode", std::int64_t{1}}}},
  };
  for (const OnnxNode& node : nodes) {
    const auto graph = read_onnx(onnx_pool(node));
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.error().code, core::ErrorCode::kUnsupported);
  }
}

TEST(Pool, CannotDilateAnAverageBeforeOpset19) {
  const core::Graph graph =
      graph_of("x: f32[1, 1, 5, 5]", "average_pool(x; kernel=[2, 2], dilations=[2, 2])");
  EXPECT_TRUE(write_onnx(graph, 19).ok());
  const auto refused = write_onnx(graph, 18);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, core::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace soapstone::ops::test
