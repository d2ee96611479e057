// Reductions: known values, where their axes come from in ONNX, and the reductions that are
// compositions.
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

TEST(Reduction, HasKnownValues) {
  const Values x{1, 2, 3, 4, 5, 60};
  const auto reduce = [&](const std::string& call) {
    return run(graph_of("x: f32[2, 3]", call), {x})[0];
  };
  expect_near(reduce("reduce_sum(x; axes=[0])"), {5, 7, 63});
  expect_near(reduce("reduce_sum(x; axes=[0, 1])"), {75});
  expect_near(reduce("reduce_mean(x; axes=[1])"), {2, 23});
  expect_near(reduce("reduce_max(x; axes=[1], keep_dims=0)"), {3, 60});
  expect_near(reduce("reduce_min(x; axes=[0])"), {1, 2, 3});
  expect_near(reduce("reduce_sum(x; axes=[])"), x);
  expect_near(reduce("reduce_log_sum_exp(x; axes=[0], keep_dims=0)"),
              {std::log(std::exp(1) + std::exp(4)), std::log(std::exp(2) + std::exp(5)), 60});
}

TEST(Reduction, RefusesWhatDoesNotFit) {
  const Refusal refusals[] = {
      {"reduce_mean.element_type", "x: i64[2, 3]", "reduce_mean(x; axes=[0])"},
      {"reduce_sum.element_type", "x: bool[2, 3]", "reduce_sum(x; axes=[0])"},
      {"reduce_sum.axes", "x: f32[2, 3]", "reduce_sum(x; axes=[2])"},
      {"reduce_sum.axes", "x: f32[2, 3]", "reduce_sum(x; axes=[1, 0])"},
      {"reduce_sum.concrete", "x: f32[2, n]", "reduce_sum(x; axes=[n])"},
      {"reduce_max.nonempty", "x: f32[2, 0]", "reduce_max(x; axes=[1])"},
      {"reduce_mean.nonempty", "x: f32[2, 0]", "reduce_mean(x; axes=[1])"},
      {"reduce_log_sum_exp.nonempty", "x: f32[2, 0]", "reduce_log_sum_exp(x; axes=[1])"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

struct ReductionRequest {
  const char* op;
  int opset;
  std::optional<Ints> attribute, input;
  bool noop = false;
};

core::Graph read(const ReductionRequest& request) {
  OnnxGraph onnx;
  onnx.opset = request.opset;
  onnx.inputs = {{"x", {kF32, {2, 2}}}};
  OnnxNode node{request.op, "", {"x"}, {"y"}, {{"keepdims", std::int64_t{0}}}};
  if (request.attribute) node.attributes.emplace_back("axes", *request.attribute);
  if (request.noop) node.attributes.emplace_back("noop_with_empty_axes", std::int64_t{1});
  if (request.input) {
    node.inputs.push_back("axes");
    onnx.constants.emplace(
        "axes",
        core::Literal::ints({static_cast<std::int64_t>(request.input->size())}, *request.input));
  }
  onnx.nodes = {std::move(node)};
  onnx.outputs = {"y"};
  return read_onnx(onnx).value();
}

TEST(Reduction, AxesWereAttributesAndAreInputs) {
  const std::vector<Values> x{{1, 2, 3, 4}};
  expect_near(run(read({"ReduceSum", 11, Ints{1}, {}}), x)[0], {3, 7});
  expect_near(run(read({"ReduceSum", 13, {}, Ints{-1}}), x)[0], {3, 7});
  expect_near(run(read({"ReduceMax", 17, Ints{0}, {}}), x)[0], {3, 4});
  expect_near(run(read({"ReduceMax", 18, {}, Ints{0}}), x)[0], {3, 4});
}

TEST(Reduction, NoAxesMeansAllOrNone) {
  const std::vector<Values> x{{1, 2, 3, 4}};
  expect_near(run(read({"ReduceSum", 13, {}, {}}), x)[0], {10});
  expect_near(run(read({"ReduceSum", 13, {}, Ints{}}), x)[0], {10});
  EXPECT_TRUE(read({"ReduceSum", 13, {}, {}, true}).order().empty());
}

TEST(Reduction, WritesAxesWhereTheOpsetHasThem) {
  const core::Graph sum = graph_of("x: f32[2, 3]", "reduce_sum(x; axes=[1])");
  const core::Graph mean = graph_of("x: f32[2, 3]", "reduce_mean(x; axes=[1])");
  EXPECT_EQ(write_onnx(sum, 12)->nodes[0].inputs.size(), 1u);
  EXPECT_EQ(write_onnx(sum, 13)->nodes[0].inputs.size(), 2u);
  EXPECT_EQ(write_onnx(mean, 17)->nodes[0].inputs.size(), 1u);
  EXPECT_EQ(write_onnx(mean, 18)->nodes[0].inputs.size(), 2u);
}

TEST(Reduction, ReadsCompositions) {
  const std::vector<Values> x{{1, -2, 3, 4}};
  expect_near(run(read({"ReduceL1", 18, {}, Ints{1}}), x)[0], {3, 7});
  expect_near(run(read({"ReduceL2", 18, {}, Ints{1}}), x)[0], {std::sqrt(5), 5});
  expect_near(run(read({"ReduceSumSquare", 17, Ints{1}, {}}), x)[0], {5, 25});
  expect_near(run(read({"ReduceLogSum", 17, Ints{0}, {}}), {{1, 2, 3, 4}})[0],
              {std::log(4), std::log(6)});
}

TEST(Reduction, LogSumExpOfInfinities) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const core::Graph graph =
      graph_of("x: f32[4, 2]", "reduce_log_sum_exp(x; axes=[1], keep_dims=0)");
  const Values y =
      run(graph, {{-infinity, -infinity, -infinity, 3, infinity, -infinity, nan, infinity}})[0];
  EXPECT_EQ(y[0], -infinity);
  EXPECT_EQ(y[1], 3);
  EXPECT_EQ(y[2], infinity);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Reduction, LogSumExpStaysInRange) {
  const core::Graph graph = read({"ReduceLogSumExp", 18, {}, Ints{1}});
  EXPECT_EQ(graph.order().size(), 1u);
  expect_near(run(graph, {{1000, 1000, -1000, -1000}})[0],
              {1000 + std::log(2), -1000 + std::log(2)});
}

}  // namespace
}  // namespace soapstone::ops::test
