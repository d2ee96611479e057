// concat, split, slice, pad: known values, and the many ways in which ONNX has said them.
#include "ops/onnx/onnx_writing.h"
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(Concat, JoinsAlongAnAxis) {
  const core::Graph graph = graph_of("x: f32[2, 1]  y: f32[2, 2]", "concat(x, y; axis=1)");
  expect_near(run(graph, {{1, 2}, {3, 4, 5, 6}})[0], {1, 3, 4, 2, 5, 6});
}

TEST(Split, CutsAlongAnAxis) {
  const core::Graph graph = graph_of("x: f32[2, 3]", "split(x; axis=1, sizes=[1, 2])", 2);
  const auto parts = run(graph, {counting(6)});
  expect_near(parts[0], {0, 3});
  expect_near(parts[1], {1, 2, 4, 5});
}

TEST(Slice, StepsForwardAndBack) {
  const auto slice = [](const std::string& call) {
    return run(graph_of("x: f32[6]", call), {counting(6)})[0];
  };
  expect_near(slice("slice(x; axes=[0], starts=[1], sizes=[3], steps=[2])"), {1, 3, 5});
  expect_near(slice("slice(x; axes=[0], starts=[5], sizes=[3], steps=[-2])"), {5, 3, 1});
}

TEST(Pad, SurroundsCropsAndSpreads) {
  const auto pad = [](const std::string& call) {
    return run(graph_of("x: f32[3]", call), {{1, 2, 3}})[0];
  };
  expect_near(pad("pad(x; pads=[1, 2])"), {0, 1, 2, 3, 0, 0});
  expect_near(pad("pad(x; pads=[-1, 1], value=9.0)"), {2, 3, 9});
  expect_near(pad("pad(x; pads=[1, -1], interior=[1], value=9.0)"), {9, 1, 9, 2, 9});
}

TEST(Slicing, InfersSymbolicSizes) {
  core::SymbolTable names;
  const Polynomial m = names.intern("m"), n = names.intern("n"), p = names.intern("p");
  const auto joined =
      infer_symbolically("concat", {{"axis", Polynomial(1)}}, {{m, n}, {m, p}}, names);
  EXPECT_EQ(core::to_string(joined.results[0].shape, names), "[m, n + p]");
  EXPECT_TRUE(joined.constraints.empty());
  const auto cut = infer_symbolically(
      "split", {{"axis", Polynomial(0)}, {"sizes", std::vector<Polynomial>{n, p}}}, {{n + p, m}},
      names);
  EXPECT_EQ(core::to_string(cut.results[1].shape, names), "[p, m]");
  const auto padded =
      infer_symbolically("pad", {{"pads", std::vector<Polynomial>{p, p}}}, {{n}}, names);
  EXPECT_EQ(core::to_string(padded.results[0].shape, names), "[n + 2*p]");
  const auto sliced = infer_symbolically("slice",
                                         {{"axes", std::vector<Polynomial>{0}},
                                          {"starts", std::vector<Polynomial>{p}},
                                          {"sizes", std::vector<Polynomial>{m}},
                                          {"steps", std::vector<Polynomial>{2}}},
                                         {{n}}, names);
  EXPECT_THAT(sliced.constraints, Contains("slice.range: -2*m + n - p + 1 ≥ 0"));
}

TEST(Slicing, RefusesWhatDoesNotFit) {
  const char* x = "x: f32[2, 3]";
  const Refusal refusals[] = {
      {"concat.axis", "x: f32[2]  y: f32[2]", "concat(x, y; axis=1)"},
      {"concat.rank", "x: f32[2]  y: f32[2, 1]", "concat(x, y; axis=0)"},
      {"concat.sizes", "x: f32[2, 3]  y: f32[2, 4]", "concat(x, y; axis=0)"},
      {"concat.same_type", "x: f32[2]  y: f16[2]", "concat(x, y; axis=0)"},
      {"split.axis", x, "split(x; axis=2, sizes=[1, 1])", 2},
      {"split.sizes", x, "split(x; axis=1, sizes=[1, 1])", 2},
      {"split.size", x, "split(x; axis=1, sizes=[4, -1])", 2},
      {"split.results", x, "split(x; axis=1, sizes=[])"},
      {"slice.axes", x, "slice(x; axes=[2], starts=[0], sizes=[1], steps=[1])"},
      {"slice.lists", x, "slice(x; axes=[0], starts=[0, 0], sizes=[1], steps=[1])"},
      {"slice.steps", x, "slice(x; axes=[0], starts=[0], sizes=[1], steps=[0])"},
      {"slice.sizes", x, "slice(x; axes=[0], starts=[0], sizes=[-1], steps=[1])"},
      {"slice.range", x, "slice(x; axes=[1], starts=[1], sizes=[3], steps=[1])"},
      {"slice.range", x, "slice(x; axes=[1], starts=[-1], sizes=[1], steps=[1])"},
      {"slice.range", x, "slice(x; axes=[1], starts=[1], sizes=[3], steps=[-1])"},
      {"slice.concrete", "x: f32[2, n]", "slice(x; axes=[1], starts=[0], sizes=[1], steps=[n])"},
      {"pad.pads", x, "pad(x; pads=[1, 1])"},
      {"pad.interior", x, "pad(x; pads=[0, 0, 0, 0], interior=[1])"},
      {"pad.interior", x, "pad(x; pads=[0, 0, 0, 0], interior=[1, -1])"},
      {"pad.interior", "x: f32[0]", "pad(x; pads=[1, 1], interior=[1])"},
      {"pad.value", x, "pad(x; pads=[0, 0, 0, 0], value=1e100)"},
      {"pad.size", x, "pad(x; pads=[-2, 0, -1, 0])"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

/// A node that reads x[…] and constants, at an opset.
struct SlicingRequest {
  const char* op_type;
  int opset;
  core::Shape x;
  std::vector<std::optional<Ints>> lists = {};
  OnnxAttributes attributes = {};
  std::size_t results = 1;
};

core::Result<core::Graph> read(const SlicingRequest& request) {
  OnnxGraph onnx;
  onnx.opset = request.opset;
  onnx.inputs = {{"x", {kF32, request.x}}};
  OnnxNode node{request.op_type, "", {"x"}, {}, request.attributes};
  for (const auto& list : request.lists) {
    node.inputs.push_back(list ? "list" + std::to_string(node.inputs.size()) : "");
    if (list) onnx.constants.emplace(node.inputs.back(), ints(*list));
  }
  for (std::size_t k = 0; k < request.results; ++k) node.outputs.push_back("y" + std::to_string(k));
  onnx.outputs = node.outputs;
  onnx.nodes = {std::move(node)};
  return read_onnx(onnx);
}

Ints split_sizes(const SlicingRequest& request) {
  const auto graph = read(request);
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return graph->node(graph->order()[0]).attributes.get_ints("sizes");
}

TEST(Split, SizesWereAnAttributeThenAnInputThenANumber) {
  EXPECT_THAT(split_sizes({"Split", 11, {6}, {}, {{"split", Ints{2, 4}}}, 2}), ElementsAre(2, 4));
  EXPECT_THAT(split_sizes({"Split", 13, {6}, {Ints{2, 4}}, {}, 2}), ElementsAre(2, 4));
  EXPECT_THAT(split_sizes({"Split", 13, {6}, {}, {}, 3}), ElementsAre(2, 2, 2));
  EXPECT_THAT(split_sizes({"Split", 18, {7}, {}, {{"num_outputs", std::int64_t{3}}}, 3}),
              ElementsAre(3, 3, 1));
  EXPECT_FALSE(read({"Split", 13, {7}, {}, {}, 3}).ok());
}

Values sliced(std::vector<std::optional<Ints>> lists) {
  const auto graph = read({"Slice", 13, {6}, std::move(lists)});
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return run(*graph, {counting(6)})[0];
}

TEST(Slice, ClampsAsOnnxDoes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(sliced({Ints{1}, Ints{3}}), ElementsAre(1, 2));
  EXPECT_THAT(sliced({Ints{-2}, Ints{kMost}}), ElementsAre(4, 5));
  EXPECT_THAT(sliced({Ints{0}, Ints{-1}, Ints{-1}, Ints{2}}), ElementsAre(0, 2, 4));
  EXPECT_THAT(sliced({Ints{-1}, Ints{kLeast}, Ints{0}, Ints{-1}}), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(sliced({Ints{kMost}, Ints{-7}, Ints{0}, Ints{-4}}), ElementsAre(5, 1));
  EXPECT_THAT(sliced({Ints{0}, Ints{kMost}, std::nullopt, Ints{kMost}}), ElementsAre(0));
  EXPECT_THAT(sliced({Ints{5}, Ints{0}, std::nullopt, Ints{kLeast}}), ElementsAre(5));
  EXPECT_THAT(sliced({Ints{4}, Ints{2}}), ElementsAre());
  EXPECT_THAT(sliced({Ints{100}, Ints{200}}), ElementsAre());
}

TEST(Slice, OfEverythingDisappears) {
  EXPECT_TRUE(read({"Slice", 13, {6}, {Ints{0}, Ints{6}}})->order().empty());
  EXPECT_TRUE(
      read({"Slice", 9, {6}, {}, {{"starts", Ints{0}}, {"ends", Ints{6}}}})->order().empty());
}

TEST(Slice, AxesAscend) {
  const auto graph = read({"Slice", 13, {4, 4}, {Ints{1, 2}, Ints{3, 4}, Ints{-1, 0}}});
  const core::Node& node = graph->node(graph->order()[0]);
  EXPECT_THAT(node.attributes.get_ints("axes"), ElementsAre(0, 1));
  EXPECT_THAT(node.attributes.get_ints("starts"), ElementsAre(2, 1));
}

TEST(Pad, WasAnAttributeThenAnInputThenOfSomeAxes) {
  const std::vector<Values> x{{1, 2}};
  const auto padded = [&](const SlicingRequest& request) {
    const auto graph = read(request);
    EXPECT_TRUE(graph.ok()) << graph.error().to_string();
    return run(*graph, x)[0];
  };
  EXPECT_THAT(padded({"Pad", 2, {2}, {}, {{"pads", Ints{1, 0}}, {"value", 3.0f}}}),
              ElementsAre(3, 1, 2));
  EXPECT_THAT(padded({"Pad", 11, {2}, {Ints{1, 0}}}), ElementsAre(0, 1, 2));
  EXPECT_THAT(padded({"Pad", 18, {1, 2}, {Ints{1, 0}, std::nullopt, Ints{-1}}}),
              ElementsAre(0, 1, 2));
}

TEST(Pad, TakesElementsOfTheTensorForItsBorder) {
  const auto padded = [](const Ints& pads, const std::string& mode) {
    const auto graph = read({"Pad", 19, {3}, {pads}, {{"mode", mode}}});
    EXPECT_TRUE(graph.ok()) << graph.error().to_string();
    return run(*graph, {{7, 8, 9}})[0];
  };
  EXPECT_THAT(padded({2, 1}, "edge"), ElementsAre(7, 7, 7, 8, 9, 9));
  EXPECT_THAT(padded({2, 1}, "reflect"), ElementsAre(9, 8, 7, 8, 9, 8));
  EXPECT_THAT(padded({4, 2}, "wrap"), ElementsAre(9, 7, 8, 9, 7, 8, 9, 7, 8));
  for (const auto& [pads, mode] : {std::pair{Ints{3, 0}, "reflect"}, {Ints{-1, 1}, "edge"}}) {
    const auto graph = read({"Pad", 19, {3}, {pads}, {{"mode", std::string(mode)}}});
    ASSERT_FALSE(graph.ok()) << mode;
    EXPECT_EQ(graph.error().code, core::ErrorCode::kUnsupported) << mode;
  }
  const auto unknown = read({"Pad", 19, {3}, {Ints{1, 0}}, {{"mode", std::string("mirror")}}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, core::ErrorCode::kInvalidInput);
}

TEST(Concat, OfOneDisappears) {
  EXPECT_TRUE(read({"Concat", 13, {2}, {}, {{"axis", std::int64_t{0}}}})->order().empty());
}

}  // namespace
}  // namespace soapstone::ops::test
