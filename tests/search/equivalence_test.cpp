#include "search/equivalence/equivalence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/base/float16.h"
#include "ops/definition/by_role.h"
#include "runtime/launches/host_backend.h"
#include "search/equivalence/cut.h"
#include "search/equivalence/double_precision.h"
#include "search/optimize.h"
#include "search_fixture.h"

namespace soapstone::search {
namespace {

core::Result<EquivalenceReport> check(const core::Graph& a, const core::Graph& b,
                                      const EquivalenceOptions& options = {}) {
  const auto backend = runtime::make_reference_backend();
  return check_equivalence(a, b, *backend, options, core::silent(), core::StopToken{});
}

const char* const kSum = "graph g\n  x: f32[4]\n  z: f32[4]\n  y = add(x, z)\n  return y\n";
const char* const kSumSwapped = "graph g\n  x: f32[4]\n  z: f32[4]\n  y = add(z, x)\n  return y\n";
const char* const kDifference = "graph g\n  x: f32[4]\n  z: f32[4]\n  y = sub(x, z)\n  return y\n";

TEST(Equivalence, EqualGraphsAreEqual) {
  const auto report = check(graph_of(kSum), graph_of(kSumSwapped));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->equal);
  EXPECT_EQ(report->samples, kSampleKinds);
}

TEST(Equivalence, UnequalGraphsAreNot) {
  const auto report = check(graph_of(kSum), graph_of(kDifference));
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->equal);
  EXPECT_GT(report->max_rel_error(), 0.1);
}

TEST(Equivalence, OneWrongElementAmongThousandsIsSeen) {
  const auto a = graph_of("graph g\n  x: f32[4096]\n  y = relu(x)\n  return y\n");
  const auto b = graph_of(R"(graph g
  x: f32[4096]
  r = relu(x)
  h, t = split(r; axis=0, sizes=[4095, 1])
  n = neg(t)
  y = concat(h, n; axis=0)
  return y
)");
  const auto report = check(a, b);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->equal);
}

/// A constant of f32 has no more digits in double precision; neither has what is filled with it.
TEST(Equivalence, FillsHaveTheDigitsOfTheirType) {
  const core::Graph twin = in_double_precision(
      graph_of("graph g\n  x: f32[4]\n  c = full(; shape=[4], value=0.6155629)\n  y = mul(x, c)\n"
               "  return y\n"));
  const auto filled = [&](core::NodeId id) { return twin.node(id).inputs.empty(); };
  const core::NodeId fill = *std::ranges::find_if(twin.order(), filled);
  EXPECT_EQ(ops::fill_value(twin.node(fill)), double{0.6155629F});
  EXPECT_NE(ops::fill_value(twin.node(fill)), 0.6155629);
}

TEST(Equivalence, InterfacesMustAgree) {
  const auto report =
      check(graph_of(kSum), graph_of("graph g\n  x: f32[4]\n  y = relu(x)\n  return y\n"));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, core::ErrorCode::kInvalidInput);
}

TEST(Equivalence, OwnInputsMustFit) {
  EquivalenceOptions options;
  options.inputs = {{core::Literal::scalar(1)}};
  const auto report = check(graph_of(kSum), graph_of(kSum), options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, core::ErrorCode::kInvalidInput);
}

/// The reference backend, which asks to stop when its kernels have been called so many times.
class StoppingBackend final : public runtime::HostBackend {
 public:
  StoppingBackend(int calls, core::StopToken& stop) : left_(calls), stop_(stop) {}
  const runtime::DeviceInfo& device() const override { return device_; }
  const runtime::FusionRules& fusion(runtime::Fusion) const override {
    return runtime::generic_fusion(runtime::Fusion::kNone);
  }

 private:
  class Kernel final : public runtime::HostKernel {
   public:
    Kernel(StoppingBackend& backend, std::unique_ptr<runtime::HostKernel> inner)
        : backend_(backend), inner_(std::move(inner)) {}
    core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                     std::byte* scratch) override {
      if (--backend_.left_ == 0) backend_.stop_.request_stop();
      return inner_->run(inputs, outputs, scratch);
    }
    std::string implementation() const override { return inner_->implementation(); }

   private:
    StoppingBackend& backend_;
    std::unique_ptr<runtime::HostKernel> inner_;
  };

  core::Result<std::unique_ptr<runtime::HostKernel>>
  make_kernel(const core::Graph& graph, const runtime::Launch& launch,
              const runtime::LaunchLayouts& layouts, const runtime::ConstantValue& constants,
              std::vector<std::string>*) override {
    SOAPSTONE_ASSIGN_OR_RETURN(auto inner,
                               runtime::compile_reference(graph, launch, layouts, constants));
    return std::unique_ptr<runtime::HostKernel>(std::make_unique<Kernel>(*this, std::move(inner)));
  }
  core::Result<std::unique_ptr<runtime::HostKernel>>
  make_conversion(const core::TensorType& type, runtime::Layout from, runtime::Layout to) override {
    return runtime::compile_reference_conversion(type, from, to);
  }

  int left_;
  core::StopToken& stop_;
  runtime::DeviceInfo device_{"stopping", "none", 1};
};

/// Each run calls a kernel for each of the graph's three nodes: a stop amid the first sample ends
/// behind it, and one amid a later sample at once, without a word about that sample.
TEST(Equivalence, AStopEndsWithinASampleButTheFirst) {
  const auto graph =
      graph_of("graph g\n  x: f32[8]\n  a = relu(x)\n  b = neg(a)\n  y = exp(b)\n  return y\n");
  for (int calls = 1; calls <= 24; ++calls) {
    core::StopToken stop;
    StoppingBackend backend(calls, stop);
    const auto report =
        check_equivalence(graph, graph, backend, EquivalenceOptions{}, core::silent(), stop);
    ASSERT_TRUE(report.ok()) << calls << ": " << report.error().to_string();
    EXPECT_TRUE(report->equal) << calls;
    EXPECT_EQ(report->samples, std::max(1, (calls - 1) / 6)) << calls;
  }
}

/// A stop is no excuse for what differs.
TEST(Equivalence, AStopKeepsADifferenceOfTheFirstSample) {
  for (int calls = 1; calls <= 4; ++calls) {
    core::StopToken stop;
    StoppingBackend backend(calls, stop);
    const auto report = check_equivalence(graph_of(kSum), graph_of(kDifference), backend,
                                          EquivalenceOptions{}, core::silent(), stop);
    ASSERT_TRUE(report.ok());
    EXPECT_FALSE(report->equal) << calls;
  }
}

/// `text` with T for the type of its tensors.
core::Graph typed(std::string text, const std::string& type) {
  for (std::size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, type);
  return graph_of(text);
}

const char* const kScaledMatmul = R"(graph g
  x: T[8, 64]
  a: T[64, 64]
  s: T[64]
  p = matmul(x, a)
  y = mul(p, s)
  return y
)";
/// The scale goes into the factor: rounded elsewhere.
const char* const kScaledFactor = R"(graph g
  x: T[8, 64]
  a: T[64, 64]
  s: T[64]
  b = mul(a, s)
  y = matmul(x, b)
  return y
)";
const char* const kScaledTwice = R"(graph g
  x: T[8, 64]
  a: T[64, 64]
  s: T[64]
  p = matmul(x, a)
  q = mul(p, s)
  c = full(; shape=[1], value=1.01)
  y = mul(q, c)
  return y
)";

TEST(Equivalence, RoundingOfTheTypeIsNoDifferenceAndAWrongFactorIs) {
  for (const char* type : {"f32", "f16", "f64", "bf16"}) {
    EquivalenceOptions options;
    options.same_constants = true;
    const auto same = check(typed(kScaledMatmul, type), typed(kScaledFactor, type), options);
    ASSERT_TRUE(same.ok()) << same.error().to_string();
    EXPECT_TRUE(same->equal) << type << ": " << (same->difference ? same->difference->what : "");
    if (std::string(type) != "f32") continue;  // the constant of the other graph is of that type
    const auto other = check(typed(kScaledMatmul, type), typed(kScaledTwice, type), options);
    ASSERT_TRUE(other.ok()) << other.error().to_string();
    EXPECT_FALSE(other->equal) << type;
  }
}

/// 1e-5 of an output is far below what f16 rounds; in double precision it shows.
TEST(Equivalence, WhatHidesInRoundingShowsInDoublePrecision) {
  const auto layer_norm = [](const char* epsilon) {
    return typed(std::string("graph g\n  x: T[8, 64]\n  s: T[64]\n  y = layer_norm(x, s; axis=1, "
                             "epsilon=") +
                     epsilon + ")\n  return y\n",
                 "f16");
  };
  EquivalenceOptions options;
  EXPECT_TRUE(check(layer_norm("1e-5"), layer_norm("1e-4"), options)->samples == kSampleKinds);
  options.same_constants = true;
  const auto other = check(layer_norm("1e-5"), layer_norm("1e-4"), options);
  EXPECT_FALSE(other->equal);
  EXPECT_TRUE(check(layer_norm("1e-5"), layer_norm("1e-5"), options)->equal);
}

TEST(Equivalence, ASwappedAxisOfASquareIsSeen) {
  const auto sum = [](const char* axis) {
    return graph_of(std::string("graph g\n  x: f32[16, 16]\n  y = reduce_sum(x; axes=[") + axis +
                    "], keep_dims=0)\n  return y\n");
  };
  EXPECT_FALSE(check(sum("0"), sum("1"))->equal);
  EXPECT_TRUE(check(sum("0"), sum("0"))->equal);
}

TEST(Equivalence, ALargerSumMayRoundMore) {
  // A sum that cancels: both orders are off by the same rounding, which is large beside the result.
  const auto one = graph_of(R"(graph g
  x: f32[64]
  z: f32[64]
  c = full(; shape=[1], value=30000.0)
  b = mul(z, c)
  s = add(x, b)
  y = sub(s, b)
  return y
)");
  const auto two = graph_of(R"(graph g
  x: f32[64]
  z: f32[64]
  c = full(; shape=[1], value=30000.0)
  b = mul(z, c)
  n = neg(b)
  t = add(b, x)
  y = add(t, n)
  return y
)");
  const auto exact = graph_of("graph g\n  x: f32[64]\n  z: f32[64]\n  y = relu(x)\n  return y\n");
  EXPECT_TRUE(check(one, two)->equal);
  EXPECT_FALSE(check(one, exact)->equal);
}

TEST(Equivalence, WhatCancelsLeavesTheDigitsOfConstants) {
  // Of six ones each result is 0, or what a sixth in f32 leaves of it in double precision.
  const auto divided = graph_of(R"(graph g
  x: f32[1, 6, 4]
  c = full(; shape=[], value=6.0)
  s = reduce_sum(x; axes=[1])
  m = div(s, c)
  y = sub(x, m)
  return y
)");
  const auto scaled = [](const char* share) {
    return graph_of(std::string("graph g\n  x: f32[1, 6, 4]\n  c = full(; shape=[], value=") +
                    share + ")\n  s = reduce_sum(x; axes=[1])\n  m = mul(s, c)\n" +
                    "  y = sub(x, m)\n  return y\n");
  };
  EXPECT_TRUE(check(divided, scaled("0.1666666716337204"))->equal) << "a sixth in f32";
  EXPECT_FALSE(check(divided, scaled("0.16667"))->equal);
}

/// A sum of 4096 ones, less as many, is zero or what 4096 shares leave.
TEST(Equivalence, WhatCancelsMayBeALongSum) {
  const auto less = [](const char* number) {
    return graph_of(std::string("graph g\n  x: f32[1, 4096]\n  m = reduce_mean(x; axes=[1])\n"
                                "  a = slice(x; axes=[1], starts=[0], sizes=[1], steps=[1])\n"
                                "  c = full(; shape=[], value=") +
                    number + ")\n  b = mul(a, c)\n  y = sub(m, b)\n  return y\n");
  };
  EquivalenceOptions options;
  options.inputs = {{core::Literal::floats({1, 4096}, std::vector<float>(4096, 1))}};
  options.samples = 0;
  EXPECT_TRUE(check(less("1.0"), less("1.000004"), options)->equal);
  EXPECT_FALSE(check(less("1.0"), less("1.0001"), options)->equal);
  options.rtol = 1e-3;
  EXPECT_FALSE(check(less("1.0"), less("1.0001"), options)->equal) << "of zero nothing is a share";
}

/// A norm of equal numbers is zero, or what rounding of their mean leaves, 300 times as large.
TEST(Equivalence, WhatANormMakesOfRoundingIsLookedFor) {
  const auto norm = [](const std::string& mean, const char* epsilon) {
    return graph_of("graph g\n  x: f32[2, 400, 4]\n  s = reduce_sum(x; axes=[1])\n" + mean +
                    "  d = sub(x, m)\n  q = mul(d, d)\n  v = reduce_sum(q; axes=[1])\n"
                    "  e = full(; shape=[], value=" +
                    epsilon + ")\n  w = add(v, e)\n  r = sqrt(w)\n  y = div(d, r)\n  return y\n");
  };
  const char* const divided = "  c = full(; shape=[], value=400.0)\n  m = div(s, c)\n";
  const char* const scaled = "  c = full(; shape=[], value=0.0025)\n  m = mul(s, c)\n";
  EquivalenceOptions options;
  options.same_constants = true;
  EXPECT_TRUE(check(norm(divided, "1e-5"), norm(scaled, "1e-5"), options)->equal);
  EXPECT_FALSE(check(norm(divided, "1e-5"), norm(scaled, "2e-5"), options)->equal);
}

TEST(Equivalence, NewInfinitiesAreDifferencesAndLostOnesAreNot) {
  // In f16 the square overflows where the product with a half does not.
  const auto halved = graph_of(R"(graph g
  x: f16[64]
  z: f16[64]
  h = mul(x, z)
  q = div(h, z)
  return q
)");
  const auto plain = graph_of(R"(graph g
  x: f16[64]
  z: f16[64]
  r = reciprocal(z)
  t = mul(z, r)
  q = mul(x, t)
  return q
)");
  EquivalenceOptions strict;
  strict.latitude.may_overflow = false;
  strict.samples = 2;
  std::vector<std::uint16_t> bits(64, core::f16_from_float(300));
  const auto x =
      core::Literal::copy(core::DataType::kFloat16, {64}, std::as_bytes(std::span(bits)));
  strict.inputs = {{x, x}};
  EXPECT_TRUE(check(halved, plain, strict)->equal) << "300 · 300 overflows, the result is better";
  const auto back = check(plain, halved, strict);
  EXPECT_FALSE(back->equal) << "300 is finite in the original";
  EXPECT_EQ(back->difference->sample, 0);
}

/// x, or `factor` times x where it is larger than `threshold`.
core::Graph scaled_above(const char* threshold, const char* factor) {
  return graph_of(std::string("graph g\n  x: f32[512]\n  t = full(; shape=[], value=") + threshold +
                  ")\n  f = full(; shape=[], value=" + factor +
                  ")\n  m = less(t, x)\n  s = mul(x, f)\n  y = where(m, s, x)\n  return y\n");
}

/// Rounding does not make 3.5 of 3: what is exact is not forgiven.
TEST(Equivalence, HalvesAreRoundedAlike) {
  const auto rounded = [](const char* body) {
    return graph_of(std::string("graph g\n  x: f32[64]\n  h = full(; shape=[], value=0.5)\n") +
                    body + "  return y\n");
  };
  const auto to_even = rounded("  y = round(x)\n");
  const auto up = rounded("  s = add(x, h)\n  y = floor(s)\n");
  const auto down = rounded("  s = sub(x, h)\n  y = ceil(s)\n");
  EXPECT_FALSE(check(to_even, up)->equal);
  EXPECT_FALSE(check(up, to_even)->equal);
  EXPECT_FALSE(check(up, down)->equal);
  EXPECT_TRUE(check(up, rounded("  s = add(h, x)\n  y = floor(s)\n"))->equal);
  // A tenth has no end in base two: there rounding decides, and both ways are right.
  const auto scaled = [&](const char* how) {
    return graph_of(std::string("graph g\n  x: f32[256]\n") + how + "  y = round(s)\n  return y\n");
  };
  EXPECT_TRUE(check(scaled("  c = full(; shape=[], value=0.1)\n  s = div(x, c)\n"),
                    scaled("  c = full(; shape=[], value=10.0)\n  s = mul(x, c)\n"))
                  ->equal);
}

TEST(Equivalence, WhatIsFiniteOnBothSidesIsNoOverflow) {
  const core::Graph x = scaled_above("1.0", "1.0");
  for (const char* threshold : {"1e6", "1e12", "1e18"})
    for (const char* factor : {"1.5", "1.01"})
      EXPECT_FALSE(check(x, scaled_above(threshold, factor))->equal) << threshold << " " << factor;
  EXPECT_TRUE(check(x, scaled_above("1e6", "1.0"))->equal);
}

TEST(Equivalence, DoublePrecisionSaysWhetherItIsOverflow) {
  const auto softmax = [](const char* less) {
    return graph_of(std::string("graph g\n  x: f32[16, 8]\n") + less +
                    "  e = exp(d)\n  s = reduce_sum(e; axes=[1])\n  y = div(e, s)\n  return y\n");
  };
  const char* const by_largest = "  m = reduce_max(x; axes=[1])\n  d = sub(x, m)\n";
  const char* const by_nothing = "  z = full(; shape=[], value=0.0)\n  d = sub(x, z)\n";
  const auto named = graph_of("graph g\n  x: f32[16, 8]\n  y = softmax(x; axis=1)\n  return y\n");
  EXPECT_TRUE(check(named, softmax(by_largest))->equal);
  EXPECT_FALSE(check(named, softmax(by_nothing))->equal);
}

TEST(Compare, TheRangeExcusesWhatDoublesExplain) {
  const double inf = std::numeric_limits<double>::infinity();
  const Floor floor{0x1p-20, 0, 3e38, 0x1p-23};
  const auto within = [&](double expected, double actual, Latitude latitude,
                          const RangeEvidence& range) {
    OutputError error;
    return compare({expected, 1}, {actual, 1}, floor, nullptr, latitude, &range, error);
  };
  const Latitude overflow{.may_overflow = true}, loss{.may_lose = true};
  EXPECT_TRUE(within(2, inf, overflow, {{2, 1}, {2, 1}, false}));
  EXPECT_FALSE(within(2, inf, {}, {{2, 1}, {2, 1}, false})) << "no rule says so";
  EXPECT_FALSE(within(2, inf, overflow, {{2, 1}, {3, 1}, false})) << "another function";
  EXPECT_FALSE(within(2, inf, overflow, {{2, 1}, {inf, 1}, true})) << "infinite in doubles, too";
  EXPECT_TRUE(within(2, inf, loss, {{2, 1}, {inf, 1}, true}));
  EXPECT_FALSE(within(2, 3, overflow, {{2, 1}, {2, 1}, false})) << "nothing left the range";
  EXPECT_TRUE(within(2, 3, overflow, {{2, 1}, {2, 1}, true}));
  EXPECT_FALSE(within(2, 3, overflow, {{2, 1}, {3, 1}, true})) << "another function";
  EXPECT_TRUE(within(inf, -inf, overflow, {{inf, 1}, {-inf, 1}, true})) << "beyond all types";
}

/// x·s⁶·z, where s⁶ is so small that only x·z leaves the range; `behind` comes last.
core::Graph product_of(bool late, const std::string& behind) {
  std::string body = late ? "  p = mul(x, z)\n" : "", last = late ? "p" : "x";
  for (const char* const next : {"q1", "q2", "q3", "q4", "q5", "q6"}) {
    body += std::string("  ") + next + " = mul(" + last + ", s)\n";
    last = next;
  }
  body += late ? "  r = relu(q6)\n" : "  q7 = mul(q6, z)\n  r = relu(q7)\n";
  return graph_of("graph g\n  x: f32[512]\n  z: f32[512]\n"
                  "  s = full(; shape=[], value=1e-9)\n" +
                  body + behind + "  return y\n");
}

TEST(Equivalence, OverflowIsLetThroughAndCounted) {
  for (const char* behind : {"  y = neg(r)\n", "  y = tanh(r)\n"}) {
    const core::Graph early = product_of(false, behind), late = product_of(true, behind);
    const auto report = check(early, late);
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_TRUE(report->equal) << behind << (report->difference ? report->difference->what : "");
    EXPECT_GT(report->overflowed(), 0U) << behind;
    EquivalenceOptions strict;
    strict.latitude.may_overflow = false;
    EXPECT_FALSE(check(early, late, strict)->equal) << behind;
    EXPECT_TRUE(check(early, early, strict)->equal) << behind;
  }
}

TEST(Equivalence, ToleranceOfTheUsersOwn) {
  const auto off = graph_of("graph g\n  x: f32[4]\n  z: f32[4]\n  s = add(x, z)\n  c = "
                            "full(; shape=[1], value=1.05)\n  y = mul(s, c)\n  return y\n");
  EquivalenceOptions options;
  EXPECT_FALSE(check(graph_of(kSum), off, options)->equal);
  options.rtol = 0.1;
  EXPECT_TRUE(check(graph_of(kSum), off, options)->equal);
  options.rtol = 0.01;
  EXPECT_FALSE(check(graph_of(kSum), off, options)->equal);
}

TEST(SampleInputs, EveryTypeIsDrawn) {
  for (const char* type : {"f32", "f16", "bf16", "f64", "i64", "i32", "i16", "i8", "u64", "u32",
                           "u16", "u8", "bool"}) {
    const auto graph = graph_of(std::string("graph g\n  x: ") + type +
                                "[512]\n  y = reshape(x; shape=[512, 1])\n  return y\n");
    const auto normal = sample_inputs(graph, SampleKind::kNormal, 1)[0].to_doubles();
    const std::set<double> values(normal.begin(), normal.end());
    EXPECT_GT(values.size(), std::string(type) == "bool" ? 1U : 8U) << type;
    const auto huge = sample_inputs(graph, SampleKind::kHuge, 1)[0].to_doubles();
    const double most =
        std::abs(*std::ranges::max_element(huge, {}, [](double v) { return std::abs(v); }));
    const std::map<std::string, double> least = {
        {"f32", 1e30}, {"f16", 1e4}, {"bf16", 1e30}, {"f64", 1e200}, {"i64", 9e18},
        {"i32", 2e9},  {"i16", 3e4}, {"i8", 120},    {"u64", 1e19},  {"u32", 4e9},
        {"u16", 6e4},  {"u8", 250},  {"bool", 1}};
    EXPECT_GE(most, least.at(type)) << type;
  }
}

TEST(SampleInputs, IndicesMayWrapWhereOnlyCopiesAreBetween) {
  const char* const direct = R"(graph g
  data: f32[5, 2]
  ids: i64[64]
  j = reshape(ids; shape=[8, 8])
  y = gather(data, j; axis=0)
  return y
)";
  const auto ids = *sample_inputs(graph_of(direct), SampleKind::kExtreme, 3)[1].to_ints();
  EXPECT_EQ(*std::ranges::min_element(ids), -5);
  EXPECT_EQ(*std::ranges::max_element(ids), 4);
  const char* const changed = R"(graph g
  data: f32[5, 2]
  ids: i64[64]
  other: i64[64]
  j = mul(ids, other)
  y = gather(data, j; axis=0)
  return y
)";
  const auto moved = *sample_inputs(graph_of(changed), SampleKind::kExtreme, 3)[1].to_ints();
  EXPECT_GE(*std::ranges::min_element(moved), 0);
}

TEST(SampleInputs, MasksOfAttentionAreMasks) {
  const auto graph = graph_of(R"(graph g
  scores: f32[4, 16]
  mask: f32[1, 16]
  s = add(scores, mask)
  p = softmax(s; axis=1)
  return p
)");
  const auto mask = sample_inputs(graph, SampleKind::kMasks, 1)[1].to_doubles();
  for (const double v : mask) EXPECT_TRUE(v == 0 || v <= -1e9) << v;
  EXPECT_TRUE(std::ranges::any_of(mask, [](double v) { return v == 0; }));
  EXPECT_TRUE(std::ranges::any_of(mask, [](double v) { return v < 0; }));
}

TEST(SampleInputs, HalvesAreExact) {
  const auto graph = graph_of(R"(graph g
  x: f32[512]
  c = full(; shape=[], value=0.3)
  d = full(; shape=[], value=96.0)
  s = add(x, c)
  m = less(s, d)
  return m
)");
  const auto values = sample_inputs(graph, SampleKind::kHalves, 1)[0].to_doubles();
  const std::set<double> drawn(values.begin(), values.end());
  for (const double value : {-1.0, 0.5, 2.5, -3.5, 0.0, 96.0})
    EXPECT_TRUE(drawn.contains(value)) << value;
  EXPECT_TRUE(std::ranges::all_of(values, is_short));
}

TEST(SampleInputs, PointsMeetTheNumbersOfTheModel) {
  const auto graph = graph_of(R"(graph g
  x: f32[256]
  a = full(; shape=[], value=4.0)
  b = full(; shape=[], value=-2.0)
  c = full(; shape=[], value=28.0)
  s = mul(x, a)
  t = add(s, b)
  m = less(t, c)
  return m
)");
  const auto values = sample_inputs(graph, SampleKind::kPoints, 1)[0].to_doubles();
  EXPECT_TRUE(std::ranges::find(values, 7.5) != values.end()) << "4 * 7.5 - 2 = 28";
  const auto between = [&](double low, double high) {
    return std::ranges::any_of(values, [&](double v) { return low < v && v < high; });
  };
  EXPECT_TRUE(between(7.5, 7.6));
  EXPECT_TRUE(between(7.4, 7.5));
  const auto other = sample_inputs(graph, SampleKind::kPoints, 1, {{{1234}}, {}})[0].to_doubles();
  EXPECT_TRUE(std::ranges::find(other, 1234) != other.end());
}

TEST(SampleInputs, BesideTheNumbersRoundingDecidesNothing) {
  const auto graph = graph_of(R"(graph g
  x: f32[256]
  a = full(; shape=[], value=0.9)
  b = full(; shape=[], value=0.5)
  c = full(; shape=[], value=32.1)
  s = mul(x, a)
  t = add(s, b)
  m = less(t, c)
  return m
)");
  const double at = (32.1 - 0.5) / 0.9;
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const auto values = sample_inputs(graph, SampleKind::kBeside, seed)[0].to_doubles();
    const auto count = [&](double low, double high) {
      return std::ranges::count_if(values, [&](double v) { return low < v / at && v / at < high; });
    };
    EXPECT_GE(count(1, 1.02), 3) << seed;
    EXPECT_GE(count(0.98, 1), 3) << seed;
    EXPECT_EQ(count(0.9999, 1.0001), 0) << seed;
  }
}

/// A sample with an element at the threshold excuses what differs anywhere else in it.
TEST(Equivalence, AThresholdBehindAScaleThatIsTwoPercentOff) {
  const auto with = [](const char* number) {
    return graph_of(std::string(R"(graph g
  x: f32[8, 16]
  a = full(; shape=[], value=0.9)
  b = full(; shape=[], value=0.5)
  c = full(; shape=[], value=)") +
                    number + R"()
  s = mul(x, a)
  t = add(s, b)
  m = less(c, t)
  h = add(x, x)
  y = where(m, h, x)
  return y
)");
  };
  const auto backend = runtime::make_reference_backend();
  const auto original = with("32.1");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EquivalenceOptions options;
    options.samples = default_samples(original);
    options.seed = seed;
    const auto same =
        check_equivalence(original, with("32.1"), *backend, options, core::silent(), {});
    const auto off =
        check_equivalence(original, with("32.742"), *backend, options, core::silent(), {});
    ASSERT_TRUE(same.ok() && off.ok());
    EXPECT_TRUE(same->equal) << seed;
    EXPECT_FALSE(off->equal) << seed;
  }
}

TEST(SampleInputs, SpreadOnesHaveEveryMagnitude) {
  const auto graph = graph_of("graph g\n  x: f32[512]\n  y = relu(x)\n  return y\n");
  double most = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::set<int> magnitudes;
    for (const double value : sample_inputs(graph, SampleKind::kSpread, seed)[0].to_doubles()) {
      magnitudes.insert(std::ilogb(value));
      most = std::max(most, std::abs(value));
    }
    for (int magnitude = 1; magnitude < 12; ++magnitude)
      EXPECT_TRUE(magnitudes.contains(magnitude)) << magnitude;
  }
  EXPECT_GT(most, 1e17);
  EXPECT_LE(most, 2e19);
}

TEST(SampleInputs, EveryRowOfATableIsReadInTurn) {
  const auto graph =
      graph_of("graph g\n  data: f32[40, 2]\n  ids: i64[16]\n  y = gather(data, ids; axis=0)\n"
               "  return y\n");
  std::set<std::int64_t> read;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto ids = *sample_inputs(graph, SampleKind::kPoints, seed)[1].to_ints();
    read.insert(ids.begin(), ids.end());
  }
  EXPECT_TRUE(read.contains(0));
  EXPECT_TRUE(read.contains(39));
  EXPECT_TRUE(read.contains(-40));
  EXPECT_GE(read.size(), 38U);
  EXPECT_GE(*read.begin(), -40);
  EXPECT_LE(*read.rbegin(), 39);
}

TEST(Landmarks, AStretchCrossesANumberInside) {
  const auto graph = graph_of(R"(graph g
  x: f32[4, 8]
  w: f32[8, 4]
  c = full(; shape=[], value=250.0)
  t = matmul(x, w)
  m = less(t, c)
  return m
)");
  const auto backend = runtime::make_reference_backend();
  const auto stretches = stretches_of(graph, *backend, 0);
  ASSERT_EQ(stretches.size(), 2U);
  // The product of two stretched inputs grows like the square.
  const auto inputs = sample_inputs(graph, SampleKind::kNormal, 0);
  std::vector<bool> crossed;
  for (const double stretch : stretches) {
    const auto all = stretched(inputs, stretch);
    const auto x = all[0].to_doubles(), w = all[1].to_doubles();
    double most = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 8; ++k) sum += x[8 * i + k] * w[4 * k + j];
        most = std::max(most, sum);
      }
    }
    EXPECT_NEAR(most, 250, 2);
    crossed.push_back(most > 250);
  }
  EXPECT_NE(crossed[0], crossed[1]);
}

TEST(SampleInputs, PerturbationIsOneStep) {
  const float values[] = {1, -3, 0, 1e30F};
  const auto moved = perturbed({core::Literal::floats({4}, values)}, 0)[0].to_doubles();
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_LE(std::abs(moved[k] - double{values[k]}), 0x1p-22 * std::abs(double{values[k]}));
  EXPECT_EQ(moved[2], 0);
}

TEST(SampleInputs, IndicesStayWithinTheData) {
  const auto graph = graph_of(R"(graph g
  data: f32[5, 2]
  ids: i64[64]
  y = gather(data, ids; axis=0)
  return y
)");
  const auto ids = *sample_inputs(graph, SampleKind::kNormal, 3)[1].to_ints();
  EXPECT_EQ(*std::min_element(ids.begin(), ids.end()), 0);
  EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 4);
}

TEST(Cut, OpaqueResultsBecomeInputsAndOperandsOutputs) {
  core::GraphBuilder builder;
  const core::TensorType type{core::DataType::kFloat32, {4}, true};
  const auto x = builder.add_input("x", type);
  const auto r = ops::append(builder, "relu", {x});
  const auto o = builder.add_node(ops::opaque_schema(), {}, {(*r)[0]}, {type}, "mystery");
  const auto y = ops::append(builder, "neg", {o[0]});
  builder.set_outputs({(*y)[0]});
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const auto cut = cut_at_opaque(*graph);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->cut_nodes, 1);
  EXPECT_EQ(cut->graph.inputs().size(), 2U);
  EXPECT_EQ(cut->graph.outputs().size(), 2U);
  EXPECT_EQ(cut->output_names[1], "operand of mystery");
}

class Optimize : public ::testing::Test {
 protected:
  core::Result<OptimizeReport> run(const core::Graph& graph, const std::string& rules) {
    const auto cost = cost::make_roofline_cost(runtime::Fusion::kFull);
    const auto backend = runtime::make_reference_backend();
    OptimizeOptions options;
    options.measure = false;
    options.search.time_s = 0;
    options.search.budget = 20;
    const rules::RuleSet none({}), set = rule_set_of(rules);
    verifier::Admission baseline(none), admission(set, {.allow_unproved = true});
    return optimize(graph, baseline, admission, *cost, *backend, options, core::silent(),
                    core::StopToken{});
  }
};

TEST_F(Optimize, ReportsTheImprovement) {
  const auto report = run(parallel_matmuls(3), kMergeMatmuls);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->outcome, Outcome::kImproved);
  EXPECT_LT(report->cost_after.total_us, report->cost_before.total_us);
  ASSERT_TRUE(report->equivalence);
  EXPECT_TRUE(report->equivalence->equal);
  ASSERT_EQ(report->rules_applied.size(), 1U);
}

TEST_F(Optimize, TakesOutTheWrongRule) {
  const auto graph = graph_of(R"(graph g
  x: f32[4, 8]
  a: f32[8, 8]
  b: f32[8, 8]
  y = matmul(x, a)
  z = matmul(x, b)
  s = add(y, z)
  return s
)");
  const auto report = run(graph, kWrongRule);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->outcome, Outcome::kNoGainFound);
  EXPECT_EQ(report->graph.hash(), graph.hash());
  ASSERT_EQ(report->taken_out.size(), 1U);
  EXPECT_EQ(report->taken_out[0].rule, "drop_second_matmul");
}

TEST_F(Optimize, KeepsTheOriginalWithoutAGain) {
  const auto graph = graph_of(kSum);
  const auto report = run(graph, kMergeMatmuls);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->outcome, Outcome::kNoGainFound);
  EXPECT_EQ(report->graph.hash(), graph.hash());
}

}  // namespace
}  // namespace soapstone::search
