// Convolution against plain loops, enlarge, their shape rules, and what ONNX may leave implicit.
#include "ops/parts/window.h"
#include "tests/ops/onnx_fakes.h"
#include "tests/ops/op_symbolic.h"
#include "tests/ops/op_test.h"

namespace soapstone::ops::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

struct Conv2d {
  std::int64_t n, c, h, w, o, kh, kw;
  std::vector<std::int64_t> strides, dilations, pads;
  std::int64_t group;
};

/// Convolution as textbooks write it: loops.
Values loops(const Conv2d& p, const Values& x, const Values& weight, const Values& bias,
             Dims& dims) {
  const auto size = [&](std::int64_t s, std::int64_t k, std::size_t d) {
    return (s + p.pads[d] + p.pads[d + 2] - p.dilations[d] * (k - 1) - 1) / p.strides[d] + 1;
  };
  dims = {p.n, p.o, size(p.h, p.kh, 0), size(p.w, p.kw, 1)};
  const std::int64_t cg = p.c / p.group, og = p.o / p.group;
  Values y;
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t o = 0; o < p.o; ++o)
      for (std::int64_t i = 0; i < dims[2]; ++i)
        for (std::int64_t j = 0; j < dims[3]; ++j) {
          double total = bias.empty() ? 0 : bias[static_cast<std::size_t>(o)];
          for (std::int64_t c = 0; c < cg; ++c)
            for (std::int64_t a = 0; a < p.kh; ++a)
              for (std::int64_t b = 0; b < p.kw; ++b) {
                const std::int64_t r = i * p.strides[0] + a * p.dilations[0] - p.pads[0];
                const std::int64_t s = j * p.strides[1] + b * p.dilations[1] - p.pads[1];
                if (r < 0 || r >= p.h || s < 0 || s >= p.w) continue;
                const std::int64_t channel = o / og * cg + c;
                total += x[static_cast<std::size_t>(((n * p.c + channel) * p.h + r) * p.w + s)] *
                         weight[static_cast<std::size_t>(((o * cg + c) * p.kh + a) * p.kw + b)];
              }
          y.push_back(total);
        }
  return y;
}

core::Attributes attributes_of(const Conv2d& p) {
  return {{"strides", to_sizes(p.strides)},
          {"dilations", to_sizes(p.dilations)},
          {"pads", to_sizes(p.pads)},
          {"group", Polynomial(p.group)}};
}

TEST(Conv, AgreesWithLoops) {
  const Conv2d cases[] = {
      {2, 3, 5, 6, 4, 3, 2, {1, 1}, {1, 1}, {0, 0, 0, 0}, 1},
      {1, 4, 7, 5, 6, 3, 3, {2, 1}, {1, 2}, {1, 2, 0, 1}, 2},
      {1, 6, 4, 4, 6, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}, 6},
      {1, 3, 4, 4, 6, 1, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}, 3},
      {1, 2, 2, 2, 2, 2, 2, {3, 3}, {2, 2}, {3, 3, 3, 3}, 1},
  };
  for (const Conv2d& p : cases)
    for (bool with_bias : {false, true}) {
      core::GraphBuilder builder;
      std::vector<core::TensorId> ids{
          builder.add_input("x", {core::DataType::kFloat32, {p.n, p.c, p.h, p.w}}),
          builder.add_input("w", {core::DataType::kFloat32, {p.o, p.c / p.group, p.kh, p.kw}})};
      if (with_bias) ids.push_back(builder.add_input("b", {core::DataType::kFloat32, {p.o}}));
      builder.set_outputs(append(builder, "conv", ids, attributes_of(p)).value());
      const core::Graph graph = std::move(builder).finish().value();
      const auto inputs = random_inputs(graph, 5);
      Dims dims;
      const Values expected =
          loops(p, inputs[0], inputs[1], with_bias ? inputs[2] : Values{}, dims);
      EXPECT_EQ(core::concrete(graph.tensor(graph.outputs()[0]).type.shape), dims);
      expect_near(run(graph, inputs)[0], expected);
    }
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const char* fits = "x: f32[1, 4, 5, 5]  w: f32[6, 4, 3, 3]";
  const Refusal refusals[] = {
      {"conv.element_type", "x: i64[1, 4, 5, 5]  w: i64[6, 4, 3, 3]", "conv(x, w)"},
      {"conv.same_type", "x: f32[1, 4, 5, 5]  w: f16[6, 4, 3, 3]", "conv(x, w)"},
      {"conv.rank", "x: f32[4, 5]  w: f32[6, 4]", "conv(x, w)"},
      {"conv.weight_rank", "x: f32[1, 4, 5, 5]  w: f32[6, 4, 3]", "conv(x, w)"},
      {"conv.channels", "x: f32[1, 4, 5, 5]  w: f32[6, 3, 3, 3]", "conv(x, w)"},
      {"conv.channels", fits, "conv(x, w; group=2)"},
      {"conv.group", fits, "conv(x, w; group=0)"},
      {"conv.group_outputs", "x: f32[1, 4, 5, 5]  w: f32[5, 2, 3, 3]", "conv(x, w; group=2)"},
      {"conv.bias_rank", "x: f32[1, 4, 5, 5]  w: f32[6, 4, 3, 3]  b: f32[6, 1]", "conv(x, w, b)"},
      {"conv.bias_size", "x: f32[1, 4, 5, 5]  w: f32[6, 4, 3, 3]  b: f32[5]", "conv(x, w, b)"},
      {"conv.window_rank", fits, "conv(x, w; strides=[1])"},
      {"conv.window_rank", fits, "conv(x, w; pads=[1, 1])"},
      {"conv.strides", fits, "conv(x, w; strides=[0, 1])"},
      {"conv.dilations", fits, "conv(x, w; dilations=[1, 0])"},
      {"conv.pads", fits, "conv(x, w; pads=[0, -1, 0, 0])"},
      {"conv.kernel", "x: f32[1, 4, 5, 5]  w: f32[6, 4, 0, 3]", "conv(x, w)"},
      {"conv.window_fits", fits, "conv(x, w; dilations=[3, 1])"},
      {"conv.concrete", "x: f32[1, 4, n, 5]  w: f32[6, 4, 3, 3]", "conv(x, w; strides=[n, 1])"},
      {"conv.concrete", "x: f32[1, g, 5, 5]  w: f32[6, 4, 3, 3]", "conv(x, w; group=g)"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

TEST(Conv, InfersSymbolicSizes) {
  core::SymbolTable names;
  const Polynomial n = names.intern("n"), c = names.intern("c"), h = names.intern("h"),
                   o = names.intern("o"), k = names.intern("k"), p = names.intern("p");
  const auto done = infer_symbolically("conv", {{"pads", std::vector<Polynomial>{p, 0, p, 0}}},
                                       {{n, c, h, 8}, {o, c, k, 3}}, names);
  EXPECT_EQ(core::to_string(done.results[0].shape, names), "[n, o, h - k + 2*p + 1, 6]");
  EXPECT_THAT(done.constraints, Contains("conv.window_fits: h - k + 2*p ≥ 0"));
  EXPECT_TRUE(done.derived.empty());
}

TEST(Conv, DerivesSizesThatAStrideDivides) {
  core::SymbolTable names;
  const Polynomial h = names.intern("h");
  const auto done = infer_symbolically("conv", {{"strides", std::vector<Polynomial>{2, 1}}},
                                       {{1, 3, h, 8}, {4, 3, 3, 3}}, names);
  ASSERT_EQ(done.derived.size(), 1u);
  EXPECT_EQ(done.derived[0].divisor, 2);
}

TEST(Conv, GroupsNeedNoVisibleDivisor) {
  core::SymbolTable names;
  const core::Symbol o = names.intern("o");
  auto done =
      infer_symbolically("conv", {{"group", Polynomial(2)}}, {{1, 4, 4, 4}, {o, 2, 3, 3}}, names);
  Assignment values{{o, 6}};
  assign(done.derived, values);
  const Semantics meaning = substitute(
      registry().definition("conv")->semantics({done.attributes, done.inputs, done.results}),
      values);
  const core::Graph graph =
      graph_of("x: f32[1, 4, 4, 4]  w: f32[6, 2, 3, 3]", "conv(x, w; group=2)");
  const auto inputs = random_inputs(graph, 6);
  Values y(24);  // 1 x 6 x 2 x 2
  const std::vector<Dims> dims{{1, 4, 4, 4}, {6, 2, 3, 3}};
  CompiledSemantics<double>(meaning, dims)
      .compute(std::vector<std::span<const double>>(inputs.begin(), inputs.end()),
               std::vector<std::span<double>>{y});
  expect_near(y, run(graph, inputs)[0]);
}

TEST(Conv, ReadsAutomaticPadding) {
  const auto pads_of = [](std::string mode, std::int64_t stride) {
    OnnxGraph onnx;
    onnx.inputs = {{"x", {core::DataType::kFloat32, {1, 1, 5, 6}}},
                   {"w", {core::DataType::kFloat32, {1, 1, 3, 2}}}};
    onnx.nodes = {{"Conv",
                   "",
                   {"x", "w"},
                   {"y"},
                   {{"auto_pad", mode}, {"strides", std::vector<std::int64_t>{stride, stride}}}}};
    onnx.outputs = {"y"};
    const core::Graph graph = read_onnx(onnx).value();
    return graph.node(graph.order().front()).attributes.get_ints("pads");
  };
  EXPECT_THAT(pads_of("SAME_UPPER", 1), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(pads_of("SAME_LOWER", 1), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(pads_of("SAME_UPPER", 2), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(pads_of("VALID", 1), ElementsAre(0, 0, 0, 0));
}

TEST(Enlarge, PutsTheKernelInTheMiddle) {
  const core::Graph graph = graph_of("w: f32[1, 1, 2, 3]", "enlarge(w; kernel=[3, 5])");
  expect_near(run(graph, {{1, 2, 3, 4, 5, 6}})[0], {0, 1, 2, 3, 0,  //
                                                    0, 4, 5, 6, 0,  //
                                                    0, 0, 0, 0, 0});
}

TEST(Enlarge, RefusesSmallerKernels) {
  const Refusal refusals[] = {
      {"enlarge.rank", "w: f32[2, 3]", "enlarge(w; kernel=[])"},
      {"enlarge.kernel_rank", "w: f32[2, 3, 3, 3]", "enlarge(w; kernel=[5])"},
      {"enlarge.kernel", "w: f32[2, 3, 3, 3]", "enlarge(w; kernel=[5, 2])"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal);
}

}  // namespace
}  // namespace soapstone::ops::test
