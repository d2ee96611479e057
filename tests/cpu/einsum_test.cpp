// Einsums that are products, with what may stand behind them: random equations, sizes and steps,
// against the comprehension.
#include <algorithm>
#include <random>

#include "tests/cpu/sketch.h"

namespace soapstone::cpu::test {
namespace {

using core::Dims;
using core::TensorId;
using runtime::Fusion;
using runtime::test::parse;

/// An equation of up to two labels of each sort in random order, and a chain of steps.
class RandomEinsum {
 public:
  explicit RandomEinsum(unsigned seed) : random_(seed) {
    for (std::string* labels : {&a_, &b_, &result_})
      labels->reserve(8);  // Letters are added one by one.
    add_labels({&a_, &b_, &result_});
    add_labels({&a_, &result_});
    add_labels({&b_, &result_});
    add_labels({&a_, &b_});
    for (std::string* labels : {&a_, &b_, &result_})
      if (pick(2)) std::ranges::shuffle(*labels, random_);
  }

  core::Graph graph() {
    last_ = sketch_.add("einsum", {operand(sizes(a_)), operand(sizes(b_))},
                        {{"equation", a_ + "," + b_ + "->" + result_}});
    const std::size_t steps = pick(4);
    for (std::size_t k = 0; k < steps; ++k) add_step();
    return sketch_.finish(last_);
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void add_labels(const std::vector<std::string*>& to) {
    for (std::size_t count = pick(3); count > 0; --count) {
      const char label = static_cast<char>('a' + sizes_.size());
      constexpr std::array<std::int64_t, 5> kSizes = {1, 2, 3, 5, 9};
      sizes_.push_back(kSizes[pick(kSizes.size())]);
      for (std::string* labels : to) *labels += label;
    }
  }

  Dims sizes(const std::string& labels) const {
    Dims dims;
    for (const char label : labels) dims.push_back(sizes_[static_cast<std::size_t>(label - 'a')]);
    return dims;
  }

  TensorId operand(const Dims& dims) {
    if (pick(2)) return sketch_.constant(dims);
    return sketch_.input(("x" + std::to_string(next_++)).c_str(), dims);
  }

  /// A tensor that broadcasts to the result.
  TensorId repeated() {
    Dims dims = sizes(result_);
    for (std::int64_t& size : dims)
      if (pick(2)) size = 1;
    while (!dims.empty() && dims.front() == 1 && pick(2)) dims.erase(dims.begin());
    return operand(dims);
  }

  void add_step() {
    const std::array<const char*, 5> functions = {"relu", "tanh", "sigmoid", "hard_swish", "gelu"};
    const std::array<const char*, 3> operations = {"add", "sub", "mul"};
    switch (pick(5)) {
    case 0:
      last_ = sketch_.add(functions[pick(functions.size())], {last_});
      return;
    case 1:
      last_ = sketch_.add("add", {last_, operand(sizes(result_))});
      return;
    case 2:
      last_ = sketch_.add("mul", {last_, sketch_.add("sigmoid", {last_})});
      return;
    default:
      last_ = sketch_.add(operations[pick(operations.size())], {last_, repeated()});
    }
  }

  std::mt19937 random_;
  Sketch sketch_;
  std::vector<std::int64_t> sizes_;  // by label
  std::string a_, b_, result_;
  TensorId last_;
  int next_ = 0;
};

/// No launch of the graph runs by the comprehension or by oneDNN's plain loops.
void expect_fast(const core::Graph& graph) {
  const auto plan = runtime::plan_execution(graph, backend(), Fusion::kFull);
  const runtime::ConstantValue value = [&](TensorId id) { return graph.tensor(id).value; };
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    const auto kernel = backend().compile(graph, plan.launches[k], plan.layouts[k], value, nullptr);
    ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
    EXPECT_EQ((*kernel)->implementation().find("ref"), std::string::npos)
        << (*kernel)->implementation() << " runs\n"
        << core::print(graph);
  }
}

TEST(Einsum, RandomEquationsWithRandomStepsBehindThem) {
  std::size_t steps = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const core::Graph graph = RandomEinsum(seed).graph();
    for (const Fusion fusion : {Fusion::kNone, Fusion::kActivation, Fusion::kFull})
      runtime::test::expect_right(graph, backend(), fusion, 1e-4, seed);
    expect_fast(graph);
    for (const runtime::Launch& launch :
         runtime::plan_launches(graph, backend().fusion(Fusion::kFull)).launches)
      if (graph.node(launch.head).op->name == "einsum") steps += launch.epilogue.size();
  }
  EXPECT_GT(steps, 250U);  // of about 600, of which many stand in no order that a launch has
}

std::size_t launches_of(const std::string& body) {
  const core::Graph graph = parse(body);
  runtime::test::expect_right(graph, backend(), Fusion::kFull, 1e-4);
  expect_fast(graph);
  return runtime::plan_launches(graph, backend().fusion(Fusion::kFull)).launches.size();
}

constexpr const char* kHeads = "\n  x: f32[2, 4, 5]\n  w: f32[3, 5, 6]\n  s: f32[]\n";

TEST(Einsum, ALinearLayerOfHeadsIsOneLaunch) {
  const std::string body = std::string(kHeads) + R"(  b: f32[6]
  r: f32[2, 4, 18]
  v: f32[5, 18]
  y = einsum(x, v; equation="abc,cd->abd")
  u: f32[18]
  z = add(y, u)
  t = mul(z, s)
  g = gelu(t)
  q = add(g, r)
  return q
)";
  EXPECT_EQ(launches_of(body), 1U);
}

/// The result is unpacked: [heads] [batch, rows] [columns] are not the dimensions in that order.
TEST(Einsum, StepsBehindAResultThatIsUnpacked) {
  const std::string einsum =
      std::string(kHeads) + "  y = einsum(x, w; equation=\"abc,dce->adbe\")\n";
  for (const char* operand : {"[]", "[6]", "[3, 1, 6]", "[2, 1, 4, 1]", "[2, 3, 4, 6]"})
    for (const char* step : {"add(y, b)", "sub(y, b)", "mul(b, y)", "div(y, b)"})
      EXPECT_EQ(launches_of(einsum + "  b: f32" + operand + "\n  z = " + step +
                            "\n  r = relu(z)\n  return r\n"),
                1U)
          << operand << step;
}

TEST(Einsum, OperandsMayRepeatAlongAnyDimensions) {
  const std::string einsum = "\n  x: f32[3, 4, 5]\n  w: f32[3, 5, 6]\n"
                             "  y = einsum(x, w; equation=\"abc,acd->abd\")\n";
  for (const char* operand : {"[3, 1, 6]", "[4, 1]", "[6]", "[]", "[3, 1, 1]", "[3, 4, 1]",
                              "[4, 6]", "[1, 1, 1]", "[3, 4, 6]"})
    for (const char* step : {"add(y, b)", "sub(y, b)", "mul(y, b)", "add(b, y)"})
      EXPECT_EQ(launches_of(einsum + "  b: f32" + operand + "\n  z = " + step +
                            "\n  s = sigmoid(z)\n  r = mul(z, s)\n  return r\n"),
                1U)
          << operand << step;
}

/// A gate may be the first step, before a sum with what somebody else has made.
TEST(Einsum, AGateMayComeFirst) {
  EXPECT_EQ(launches_of(std::string(kHeads) +
                        "  r: f32[3, 4, 2, 6]\n  y = einsum(x, w; equation=\"abc,dce->dbae\")\n"
                        "  g = sigmoid(y)\n  z = mul(g, y)\n  t = add(r, z)\n  q = tanh(t)\n"
                        "  return q\n"),
            1U);
}

TEST(Einsum, ResidualThatIsAFactorIsNotOverwritten) {
  const core::Graph graph = parse(R"(
  x: f32[3, 4, 4]
  w: f32[3, 4, 4]
  p = relu(x)
  y = einsum(p, w; equation="abc,acd->abd")
  z = add(y, p)
  r = relu(z)
  return r
)");
  runtime::test::expect_right(graph, backend(), Fusion::kFull);
}

TEST(Einsum, SeveralThreadsComputeTheSame) {
  const auto threaded = make_cpu_backend({.threads = 2});
  ASSERT_TRUE(threaded.ok());
  for (unsigned seed = 0; seed < 20; ++seed)
    runtime::test::expect_right(RandomEinsum(seed).graph(), **threaded, Fusion::kFull, 1e-4, seed);
}

}  // namespace
}  // namespace soapstone::cpu::test
