// Changes of a model file that ask nothing of operators: other weights, another batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/onnx/batch_size.h"
#include "models/onnx/moved.h"
#include "ops/evaluation/evaluate.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTenSeventeen = R"(<ir_version: 10, opset_import: ["" : 17]> )";

class DocumentChanges : public testing::Test {
 protected:
  std::filesystem::path saved(const std::string& text) {
    auto path = folder_.path() / "model.onnx";
    write_file(path, bytes_from_text(kTenSeventeen + text));
    return path;
  }
  std::filesystem::path changed() const { return folder_.path() / "changed.onnx"; }
  onnx::ModelProto read_changed() const { return parse_proto(read_file(changed())); }

  /// The first sizes of the inputs and outputs with a batch of that size, or the error.
  std::string sizes_with(const std::string& interface, std::int64_t batch) {
    const auto path = saved("g " + interface + " { y = Relu(x) }");
    if (const auto status = write_with_batch(path, batch, changed()); !status)
      return status.error().message;
    std::string text;
    const onnx::ModelProto model = read_changed();
    const auto note = [&](const onnx::ValueInfoProto& value) {
      const auto& shape = value.type().tensor_type().shape();
      text += value.name() + "=";
      for (const auto& size : shape.dim())
        text += (size.has_dim_value() ? std::to_string(size.dim_value()) : size.dim_param()) + ",";
      text += " ";
    };
    for (const auto& input : model.graph().input()) note(input);
    for (const auto& output : model.graph().output()) note(output);
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(DocumentChanges, WeightsMoveToNeighbors) {
  const auto path = saved(R"(g (float[2, 3] x) => (float[2, 3] y)
      <float[2, 3] w = {1.0, -2.0, 0.0, 3.5, -1e-3, 7e9}, float[3] b = {1.0, 2.0, 3.0}>
      { a = Mul(x, w) y = Add(a, b) })");
  ASSERT_TRUE(write_moved(path, changed(), 1).ok());
  const OnnxModel before = *read_onnx(path), after = *read_onnx(changed());
  EXPECT_EQ(operators(before.graph), operators(after.graph));
  const auto weight = [](const OnnxModel& model, std::size_t node) {
    const core::Node& reader = model.graph.node(model.graph.order()[node]);
    return model.graph.tensor(reader.inputs[1]).value->to_doubles();
  };
  EXPECT_EQ(weight(before, 1), weight(after, 1)) << "one dimension may be sizes";
  const auto was = weight(before, 0), is = weight(after, 0);
  int moved = 0;
  for (std::size_t k = 0; k < was.size(); ++k) {
    const auto value = static_cast<float>(was[k]);
    const double step = std::nextafter(std::abs(value), INFINITY) - std::abs(value);
    EXPECT_LE(std::abs(is[k] - was[k]), value == 0 ? 0 : step) << was[k];
    moved += is[k] != was[k] ? 1 : 0;
  }
  EXPECT_GE(moved, 1);
}

TEST_F(DocumentChanges, ResultsBecomeNoisy) {
  const auto path = saved(R"(g (float[4, 500] x, float[4, 500] z) => (float[4, 500] y)
      { t = Identity(x) u = Identity(z) y = Sub(t, u) })");
  ASSERT_TRUE(write_moved(path, changed(), 1, {"t", "y", "nothing"}).ok());
  const core::Graph graph = read_onnx(changed())->graph;
  const auto of = [&](double both) {
    const std::vector<double> values(2000, both);
    return ops::evaluate_graph<double>(graph, std::vector{values, values})->at(0);
  };
  const std::vector<double> off = of(1);
  const auto [least, most] = std::ranges::minmax_element(off);
  EXPECT_GE(*least, -0x1p-23);
  EXPECT_LE(*most, 0x1p-22);
  const double mean = std::accumulate(off.begin(), off.end(), 0.0) / 2000;
  EXPECT_LT(std::abs(mean), 0x1p-24) << "up as well as down";
  EXPECT_LT(*least, 0);
  EXPECT_GT(*most, 0);
  EXPECT_NE(std::vector(off.begin(), off.begin() + 500),
            std::vector(off.begin() + 500, off.begin() + 1000));
  EXPECT_EQ(of(0), std::vector<double>(2000, 0));
}

TEST_F(DocumentChanges, AnOpenBatchIsSet) {
  EXPECT_EQ(sizes_with("(float[N, 3] x) => (float[N, 3] y)", 8), "x=8,3, y=8,3, ");
  EXPECT_EQ(sizes_with("(float[N, 3] x, float[1, N] z) => (float[N, 3] y)", 8),
            "x=8,3, z=1,8, y=8,3, ")
      << "a size with its name follows, a first size of 1 is none";
  EXPECT_EQ(sizes_with("(float[?, 3] x) => (float[?, M] y)", 8), "x=8,3, y=8,M, ");
}

TEST_F(DocumentChanges, ABatchOfOneIsSet) {
  EXPECT_EQ(sizes_with("(float[1, 3] x, float[4, 1] z) => (float[1, 3] y)", 8),
            "x=8,3, z=4,1, y=8,3, ");
}

TEST_F(DocumentChanges, AFixedBatchStays) {
  EXPECT_THAT(sizes_with("(float[4, 3] x) => (float[4, 3] y)", 8),
              HasSubstr("no input has a first size that is open or 1"));
}

TEST_F(DocumentChanges, ValuesThatInputsHaveByDefaultHaveNoBatch) {
  const auto path = saved(R"(g (float[1, 3] x, float[1, 3] w = {1.0, 2.0, 3.0}) => (float[1, 3] y)
      { y = Mul(x, w) })");
  ASSERT_TRUE(write_with_batch(path, 8, changed()).ok());
  const OnnxModel model = *read_onnx(changed());
  ASSERT_EQ(model.graph.inputs().size(), 2U);
  EXPECT_EQ(model.graph.tensor(model.graph.inputs()[1]).type.shape, (core::Shape{1, 3}));
  EXPECT_EQ(model.graph.tensor(model.graph.outputs()[0]).type.shape, (core::Shape{8, 3}));
}

TEST_F(DocumentChanges, NoModelIsAnError) {
  write_file(folder_.path() / "none.onnx", "none");
  const auto status = write_moved(folder_.path() / "none.onnx", changed(), 1);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().where, HasSubstr("none.onnx"));
  EXPECT_FALSE(std::filesystem::exists(changed()));
}

}  // namespace
}  // namespace soapstone::models
