// Contractions whose factors a backend was told to round, and how far off they may be.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/cpu/sketch.h"

namespace soapstone::cpu::test {

/// A precision as a backend and its kernels know it.
struct Rounding {
  core::DataType type;
  std::string name;
};
/// How it shows in the names of tests.
inline void PrintTo(const Rounding& rounding, std::ostream* out) { *out << rounding.name; }
inline const Rounding kBf16 = {core::DataType::kBFloat16, "bf16"};
inline const Rounding kInt8 = {core::DataType::kInt8, "int8"};

/// Null where the processor has no such instructions.
inline std::unique_ptr<runtime::Backend> rounding_backend(const Rounding& rounding,
                                                          int threads = 1) {
  auto made = make_cpu_backend({.threads = threads, .precision = rounding.type});
  if (made) return *std::move(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kUnavailable);
  EXPECT_NE(made.error().message.find("no " + rounding.name + " instructions"), std::string::npos);
  return nullptr;
}

/// Chooses rounded factors for every launch that may have them; returns for how many.
inline std::size_t round_all(const core::Graph& graph, runtime::Backend& made) {
  const runtime::ExecutionPlan plan = runtime::plan_execution(graph, made, runtime::Fusion::kFull);
  std::size_t rounded = 0;
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    for (const std::string& name : made.candidates(graph, plan.launches[k], plan.layouts[k])) {
      if (name.find(" factors, ") == std::string::npos) continue;
      made.choose(runtime::launch_signature(graph, plan.launches[k], plan.layouts[k]), name);
      ++rounded;
    }
  }
  return rounded;
}

/// Chooses rounded factors for a graph of one contraction; false: it may have none. That is a
/// failure, but for integers on processors with AMX: we have not seen what oneDNN has there.
inline bool rounds(const core::Graph& graph, const Rounding& rounding, runtime::Backend& made) {
  const std::size_t rounded = round_all(graph, made);
  const bool is_known = rounding.type != core::DataType::kInt8 ||
                        made.device().key().find("-amx)") == std::string::npos;
  EXPECT_TRUE(rounded == 1 || (rounded == 0 && !is_known)) << core::print(graph);
  return rounded == 1;
}

struct Shape {
  const char* op;
  core::Dims source, weights;
  bool known = true;  ///< The weights are a constant.
  std::int64_t group = 1;
  const char* steps = "";    ///< b: bias, c: a large one, s: scale, f: relu, r: residual
  std::int64_t padding = 0;  ///< On each side, of convolutions.
  std::int64_t stride = 1, dilation = 1;
};

/// f(element, its number) of all elements, in their place.
template <class Function>
core::Literal each(const core::Literal& literal, const Function& f) {
  std::vector<float> values;
  for (const double value : literal.to_doubles())
    values.push_back(static_cast<float>(f(value, values.size())));
  return core::Literal::floats(core::Dims(literal.dims().begin(), literal.dims().end()), values);
}

/// The contraction with its steps; without them if `bare`.
inline core::Graph graph_of(const Shape& shape, core::LiteralPtr weights, bool bare = false) {
  Sketch sketch;
  const core::TensorId x = sketch.input("x", shape.source);
  const core::TensorId w =
      shape.known ? sketch.constant(std::move(weights)) : sketch.input("w", shape.weights);
  core::Attributes attributes;
  if (shape.group > 1) attributes.set("group", shape.group);
  if (std::string_view(shape.op) == "conv") {
    const std::size_t rank = shape.source.size() - 2;
    attributes.set("strides", core::Shape(rank, shape.stride));
    attributes.set("dilations", core::Shape(rank, shape.dilation));
    attributes.set("pads", core::Shape(2 * rank, shape.padding));
  }
  core::TensorId y = sketch.add(shape.op, {x, w}, attributes);
  const core::Dims dims = runtime::dims_of(sketch.type(y));
  for (const char step : std::string(bare ? "" : shape.steps)) {
    core::Dims channels(dims.size(), 1);
    const std::size_t axis = std::string(shape.op) == "matmul" ? dims.size() - 1 : 1;
    channels[axis] = dims[axis];
    if (step == 'b') y = sketch.add("add", {y, sketch.constant(numbers(channels))});
    if (step == 'c') {
      const auto large =
          each(*numbers(channels), [](double value, std::size_t) { return 64 * value; });
      y = sketch.add("add", {y, sketch.constant(std::make_shared<const core::Literal>(large))});
    }
    if (step == 's') y = sketch.add("mul", {y, sketch.constant(numbers(channels))});
    if (step == 'f') y = sketch.add("relu", {y});
    if (step == 'r') y = sketch.add("add", {y, sketch.input("r", dims)});
  }
  return sketch.finish(y);
}
inline core::Graph graph_of(const Shape& shape) { return graph_of(shape, numbers(shape.weights)); }

inline core::Literal absolute(const core::Literal& literal) {
  return each(literal, [](double x, std::size_t) { return std::fabs(x); });
}

/// |x| and what x is off by at most when it is rounded: by a share of itself (bf16 has 8 bits), or
/// by half of a scale that makes 255 steps of the range of all.
inline core::Literal farthest(const core::Literal& source, const Rounding& rounding) {
  if (rounding.type == core::DataType::kBFloat16)
    return each(source, [](double x, std::size_t) { return std::fabs(x) * (1 + 1.0 / 256); });
  const std::vector<double> all = source.to_doubles();
  const auto [least, most] = std::ranges::minmax(all);
  const double step = (std::max(most, 0.0) - std::min(least, 0.0)) / 255;
  return each(source, [&](double x, std::size_t) { return std::fabs(x) + step / 2; });
}

/// The same of weights, whose scales make 64 steps of the largest of a channel (127 where the
/// processor can). Channels are the first dimension of a convolution's, the last of a product's.
inline core::Literal farthest_weights(const core::Literal& weights, const Rounding& rounding,
                                      bool first) {
  if (rounding.type == core::DataType::kBFloat16) return farthest(weights, rounding);
  const std::vector<double> all = weights.to_doubles();
  const auto channels = static_cast<std::size_t>(first ? weights.dims()[0] : weights.dims().back());
  const auto channel = [&](std::size_t i) {
    return first ? i / (all.size() / channels) : i % channels;
  };
  std::vector<double> largest(channels);
  for (std::size_t i = 0; i < all.size(); ++i)
    largest[channel(i)] = std::max(largest[channel(i)], std::fabs(all[i]));
  return each(weights,
              [&](double w, std::size_t i) { return std::fabs(w) + largest[channel(i)] / 64 / 2; });
}

/// Chooses rounded factors for the contraction and expects what the rounding allows of it: each
/// product is as far off as its factors, and steps behind the sum make no difference larger.
/// Returns the largest error over what the sum would be without signs.
inline double expect_within_bound(const Shape& shape, const core::LiteralPtr& weights,
                                  core::Literal source, const Rounding& rounding,
                                  runtime::Backend& made) {
  const core::Graph graph = graph_of(shape, weights);
  if (!rounds(graph, rounding, made)) return HUGE_VAL;
  EXPECT_TRUE(implementation(graph, made).starts_with(rounding.name + " factors"));
  std::vector<core::Literal> inputs = runtime::random_inputs(graph, 1);
  inputs[0] = std::move(source);
  const core::Literal& w = shape.known ? *weights : inputs[1];
  const bool first = std::string_view(shape.op) != "matmul";
  const auto sums = [&](const core::Literal& of_source, const core::Literal& of_weights) {
    std::vector<core::Literal> factors = {of_source};
    if (!shape.known) factors.push_back(of_weights);
    const auto literal = std::make_shared<const core::Literal>(of_weights);
    return runtime::test::expected(graph_of(shape, literal, true), factors)[0];
  };
  const std::vector<double> least = sums(absolute(inputs[0]), absolute(w));
  const std::vector<double> most =
      sums(farthest(inputs[0], rounding), farthest_weights(w, rounding, first));
  auto program = runtime::test::executable(graph, made);
  const auto outputs = program.run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().to_string();
  if (!outputs) return HUGE_VAL;
  const std::vector<double> found = (*outputs)[0].to_doubles();
  const std::vector<double> wanted = runtime::test::expected(graph, inputs)[0];
  // What the sum with a bias is rounded to, also where a sum is as large as it and opposite.
  const std::string steps = shape.steps;
  const double bias = steps.find('c') != std::string::npos   ? 32
                      : steps.find('b') != std::string::npos ? 0.5
                                                             : 0;
  double largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double error = std::fabs(found[i] - wanted[i]);
    const double bound =
        most[i] - least[i] + 1e-5 * (least[i] + std::fabs(wanted[i])) + 0x1p-22 * bias;
    if (!(error <= bound)) {
      ADD_FAILURE() << error << " is more than " << bound << "\n" << core::print(graph);
      break;
    }
    if (least[i] > 0) largest = std::max(largest, error / least[i]);
  }
  return largest;
}
/// The same for ordinary numbers, which rounding does not leave as they are.
inline void expect_within_bound(const Shape& shape, const Rounding& rounding,
                                runtime::Backend& made) {
  const core::Graph graph = graph_of(shape);
  const core::Literal source = runtime::random_inputs(graph, 1)[0];
  EXPECT_GT(expect_within_bound(shape, numbers(shape.weights), source, rounding, made), 1e-5)
      << "nothing was rounded: " << core::print(graph);
}

}  // namespace soapstone::cpu::test
