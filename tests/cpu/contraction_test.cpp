// Convolutions and matmuls of random shapes with random epilogues, and whole random graphs.
#include <random>

#include "tests/cpu/cpu_test.h"
#include "tests/runtime/random_graph.h"

namespace soapstone::cpu::test {
namespace {

using runtime::Fusion;
using runtime::test::parse;

using Sizes = std::vector<std::size_t>;

std::string dims(const Sizes& sizes) {
  std::string text = "[";
  for (std::size_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

class RandomContraction {
 public:
  explicit RandomContraction(unsigned seed) : random_(seed) {}

  std::string convolution() {
    const std::size_t group = pick({1, 1, 1, 2, 4}), in = group * pick({1, 3, 4, 16}),
                      out = group * pick({1, 5, 8, 16}), kernel = pick({1, 2, 3}),
                      dilation = pick({1, 1, 2}), batch = pick({1, 2}), stride = pick({1, 1, 2}),
                      rank = pick({1, 2, 2, 3});
    Sizes source = {batch, in}, weights = {out, in / group}, result = {batch, out}, before, after;
    for (std::size_t d = 0; d < rank; ++d) {
      source.push_back(pick({6, 7, 8, 9}));
      weights.push_back(kernel);
      before.push_back(pick({0, 1, 2}));
      after.push_back(pick({0, 1, 2}));
      const std::size_t reach = dilation * (kernel - 1) + 1;
      result.push_back((source.back() + before.back() + after.back() - reach) / stride + 1);
    }
    Sizes channels(rank + 1, 1), pads = before;
    channels[0] = out;
    pads.insert(pads.end(), after.begin(), after.end());
    text_ = "\n  x: f32" + dims(source) + "\n  w: f32" + dims(weights) + "\n  b: f32" +
            dims({out}) + "\n  c: f32" + dims(channels) + "\n  s: f32[]\n  r: f32" + dims(result) +
            "\n";
    text_ += "  y = conv(x, w" + std::string(pick({0, 1}) ? ", b" : "") +
             "; group=" + std::to_string(group) + ", strides=" + dims(Sizes(rank, stride)) +
             ", dilations=" + dims(Sizes(rank, dilation)) + ", pads=" + dims(pads) + ")\n";
    return epilogue();
  }

  std::string matmul() {
    const std::size_t m = pick({1, 3, 16}), k = pick({1, 5, 32}), n = pick({1, 4, 33});
    const std::size_t p = pick({1, 2}), q = pick({1, 3}), shape = pick({0, 1, 2, 3});
    const std::string a = shape == 0 ? dims({m, k}) : dims({p, q, m, k});
    const std::string b = shape <= 1   ? dims({k, n})
                          : shape == 2 ? dims({p, q, k, n})
                                       : dims({q, k, n});
    text_ = "\n  x: f32" + a + "\n  w: f32" + b + "\n  c: f32" + dims({n}) + "\n  s: f32[]\n";
    text_ += "  r: f32" + (shape == 0 ? dims({m, n}) : dims({p, q, m, n})) + "\n";
    text_ += "  y = matmul(x, w)\n";
    return epilogue();
  }

 private:
  std::size_t pick(Sizes choices) { return choices[random_() % choices.size()]; }

  std::string epilogue() {
    last_ = "y";
    if (pick({0, 1})) step("add(" + last_ + ", c)");
    if (pick({0, 0, 1})) step(pick({0, 1}) ? "mul(" + last_ + ", c)" : "div(" + last_ + ", s)");
    if (pick({0, 1})) {
      step(activation());
    } else if (pick({0, 1})) {
      gate();
    }
    if (pick({0, 1})) {
      step(pick({0, 1}) ? "add(" + last_ + ", r)" : "add(r, " + last_ + ")");
      if (pick({0, 1}))
        step(activation());
      else if (pick({0, 1}))
        gate();
    }
    return text_ + "  return " + last_ + "\n";
  }

  std::string activation() {
    const std::vector<std::string> functions = {
        "relu(%)",           "sigmoid(%)",
        "tanh(%)",           "leaky_relu(%; alpha=0.25)",
        "clip(%; min=-0.5)", "clip(%; min=0.0, max=6.0)",
        "hard_swish(%)",     "hard_sigmoid(%)",
        "gelu(%)",           "gelu(%; approximate=\"tanh\")"};
    std::string call = functions[random_() % functions.size()];
    return call.replace(call.find('%'), 1, last_);
  }

  void gate() {
    const std::string x = last_;
    const std::vector<std::string> functions = {"sigmoid(%)",
                                                "hard_sigmoid(%; alpha=0.16666667, beta=0.5)",
                                                "hard_sigmoid(%; alpha=0.25, beta=0.5)"};
    std::string call = functions[pick({0, 1, 2})];
    step(call.replace(call.find('%'), 1, x));
    step(pick({0, 1}) ? "mul(" + x + ", " + last_ + ")" : "mul(" + last_ + ", " + x + ")");
  }

  void step(const std::string& call) {
    last_ = "t" + std::to_string(next_++);
    text_ += "  " + last_ + " = " + call + "\n";
  }

  std::mt19937 random_;
  std::string text_, last_;
  int next_ = 0;
};

/// With weights and operands given at run time, and with all of them constant.
void expect_right_both_ways(const std::string& body, unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const core::Graph graph = parse(body);
  for (Fusion fusion : {Fusion::kNone, Fusion::kActivation, Fusion::kFull})
    runtime::test::expect_right(graph, backend(), fusion, 1e-4, seed);
  const auto values = runtime::random_inputs(graph, seed + 1);
  core::GraphBuilder builder(graph);
  for (std::size_t i = 1; i < values.size(); ++i)
    builder.replace_uses(graph.inputs()[i],
                         builder.add_constant(std::make_shared<core::Literal>(values[i])));
  const auto constant = std::move(builder).finish();
  ASSERT_TRUE(constant.ok());
  runtime::test::expect_right(*constant, backend(), Fusion::kFull, 1e-4, seed);
}

TEST(Contraction, RandomConvolutions) {
  for (unsigned seed = 0; seed < 120; ++seed)
    expect_right_both_ways(RandomContraction(seed).convolution(), seed);
}

/// The taps of a window lie on both sides of the image: what is added to nothing is the bias.
TEST(Contraction, WindowsAroundTheImage) {
  const core::Graph graph = parse(R"(
  x: f32[1, 1, 1, 1]
  a: f32[1, 1, 2, 2]
  u: f32[1]
  b: f32[1, 1, 2, 2]
  v: f32[1]
  s = conv(x, a, u; pads=[2, 0, 2, 1], dilations=[3, 1])
  t = conv(x, b, v; pads=[2, 0, 2, 1], dilations=[3, 1])
  y = add(s, t)
  return y
)");
  runtime::test::expect_right(graph, backend(), Fusion::kFull);
}

TEST(Contraction, RandomMatmuls) {
  for (unsigned seed = 0; seed < 120; ++seed)
    expect_right_both_ways(RandomContraction(seed).matmul(), seed);
}

TEST(Contraction, RandomGraphs) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const core::Graph graph = runtime::test::RandomGraph(seed).make(20);
    for (Fusion fusion : {Fusion::kNone, Fusion::kFull})
      runtime::test::expect_right(graph, backend(), fusion, 1e-3, seed);
  }
}

std::size_t launches_behind(const std::string& steps) {
  const core::Graph graph = parse("\n  x: f32[1, 16, 6, 6]\n  w: f32[16, 16, 1, 1]\n" + steps);
  runtime::test::expect_right(graph, backend(), Fusion::kFull, 1e-4);
  return runtime::plan_launches(graph, backend().fusion(Fusion::kFull)).launches.size();
}

/// x·f(x) is one step, if nobody else reads x or f(x).
TEST(Contraction, GatesAreFused) {
  const std::string conv = "  y = conv(x, w)\n",
                    silu = conv + "  s = sigmoid(y)\n  z = mul(y, s)\n";
  EXPECT_EQ(launches_behind(silu + "  return z\n"), 1U);
  EXPECT_EQ(launches_behind(silu + "  r = add(z, x)\n  t = hard_sigmoid(r; alpha=0.16666667)\n"
                                   "  u = mul(t, r)\n  return u\n"),
            1U);
  EXPECT_EQ(launches_behind("  a = add(x, x)\n  s = sigmoid(a)\n  z = mul(s, a)\n  return z, w\n"),
            1U);
  EXPECT_EQ(launches_behind(silu + "  return z, s\n"), 3U);
  EXPECT_EQ(launches_behind(silu + "  return z, y\n"), 3U);
  EXPECT_EQ(launches_behind(silu + "  n = neg(s)\n  return z, n\n"), 4U);
  EXPECT_EQ(
      launches_behind(conv + "  s = hard_sigmoid(y; alpha=0.25)\n  z = mul(y, s)\n  return z\n"),
      3U);
  EXPECT_EQ(launches_behind(conv + "  s = sigmoid(y)\n  z = add(y, s)\n  return z\n"), 3U);
  EXPECT_EQ(
      launches_behind(conv + "  s = sigmoid(y)\n  z = mul(s, s)\n  n = neg(y)\n  return z, n\n"),
      4U);
}

/// Each product of a batch has a bias of its own, and the left side may be one for all of them.
TEST(Contraction, BiasForEachProductOfABatch) {
  const auto expect_right = [](const std::string& left, const std::string& batch, unsigned seed) {
    const std::string body = "\n  x: f32" + left + "\n  w: f32[" + batch + "5, 6]\n  b: f32[" +
                             batch + "1, 6]\n  s: f32[6]\n  y = matmul(x, w)\n  z = add(y, b)\n";
    for (const char* end :
         {"  r = relu(z)\n  return r\n", "  return z\n",
          "  t = add(z, s)\n  r = tanh(t)\n  return r\n", "  r = mul(z, s)\n  return r\n"})
      expect_right_both_ways(body + end, seed);
    const core::Graph one = parse(body + "  r = relu(z)\n  return r\n");
    EXPECT_EQ(runtime::plan_launches(one, backend().fusion(Fusion::kFull)).launches.size(), 1U);
  };
  for (unsigned count = 2; count <= 4; ++count) {
    const std::string n = std::to_string(count);
    expect_right("[" + n + ", 3, 5]", n + ", ", count);
    expect_right("[3, 5]", n + ", ", 10 + count);
    expect_right("[1, 3, 5]", n + ", ", 20 + count);
    expect_right("[" + n + ", 2, 3, 5]", n + ", 2, ", 30 + count);
    expect_right("[3, 5]", n + ", 2, ", 40 + count);
    expect_right("[2, 3, 5]", n + ", 2, ", 50 + count);
  }
}

TEST(Contraction, ResidualThatIsTheSourceIsNotOverwritten) {
  const core::Graph graph = parse(R"(
  x: f32[1, 16, 6, 6]
  w: f32[16, 16, 3, 3]
  p = relu(x)
  y = conv(p, w; pads=[1, 1, 1, 1])
  z = add(y, p)
  r = relu(z)
  return r
)");
  runtime::test::expect_right(graph, backend(), Fusion::kFull);
}

TEST(Contraction, SeveralThreadsComputeTheSame) {
  auto threaded = make_cpu_backend({.threads = 2});
  ASSERT_TRUE(threaded.ok());
  EXPECT_EQ((*threaded)->device().threads, 2);
  for (unsigned seed = 0; seed < 10; ++seed) {
    const core::Graph graph = runtime::test::RandomGraph(seed).make(15);
    runtime::test::expect_right(graph, **threaded, Fusion::kFull, 1e-3, seed);
  }
  const core::Graph large = parse(R"(
  x: f32[64, 3000]
  c: f32[64, 1]
  a = add(x, c)
  e = exp(a)
  s = reduce_sum(e; axes=[0])
  t = transpose(e; perm=[1, 0])
  k = concat(e, x; axis=1)
  return s, t, k
)");
  runtime::test::expect_right(large, **threaded, Fusion::kFull, 1e-3);
}

}  // namespace
}  // namespace soapstone::cpu::test
