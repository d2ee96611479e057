// Open sizes of inputs: given by input, given by dimension, assumed, refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/definition/registry.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using ::testing::ElementsAre;

constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n, 3, s, s] x, float[n, 3] z) => (float[n, 3, s, s] y, float[n, 3] w) {
    y = Relu(x)
    w = Neg(z)
  })";

std::string shape_of(const OnnxModel& model, std::size_t input) {
  const auto& type = model.graph.tensor(model.graph.inputs()[input]).type;
  return core::to_string(type.shape, model.graph.symbols());
}

std::string error_with(std::map<std::string, core::Dims> shapes) {
  return error_of_text(kModel, {std::move(shapes), false});
}

TEST(InputShapes, ByDimension) {
  const auto model = read_text(kModel, {{{"n", {4}}, {"s", {8}}}, false});
  EXPECT_EQ(shape_of(model, 0), "[4, 3, 8, 8]");
  EXPECT_EQ(shape_of(model, 1), "[4, 3]");
}

TEST(InputShapes, ByInputSettlesTheOthersToo) {
  const auto model = read_text(kModel, {{{"x", {2, 3, 5, 5}}}, false});
  EXPECT_EQ(shape_of(model, 0), "[2, 3, 5, 5]");
  EXPECT_EQ(shape_of(model, 1), "[2, 3]");
}

TEST(InputShapes, AssumedOnesAreReported) {
  const auto model = read_text(kModel, {{{"s", {8}}}, true});
  EXPECT_EQ(shape_of(model, 0), "[1, 3, 8, 8]");
  EXPECT_THAT(model.warnings, ElementsAre("input 'x': dimension 0 ('n') is open; assumed to be 1"));
}

core::Dims declared(const onnx::ValueInfoProto& value) {
  core::Dims dims;
  for (const auto& dimension : value.type().tensor_type().shape().dim())
    dims.push_back(dimension.has_dim_value() ? dimension.dim_value() : -1);
  return dims;
}

/// A file that declared open sizes would be run at others than it was made for.
TEST(InputShapes, ExactlyTheSettledSizesAreDeclared) {
  const auto model = read_text(kModel, {{{"n", {4}}, {"s", {8}}}, false});
  const auto written = parse_proto(write_checked(model));
  EXPECT_EQ(declared(written.graph().input(0)), (core::Dims{4, 3, 8, 8}));
  EXPECT_EQ(declared(written.graph().input(1)), (core::Dims{4, 3}));
  EXPECT_EQ(declared(written.graph().output(0)), (core::Dims{4, 3, 8, 8}));
  EXPECT_EQ(declared(written.graph().output(1)), (core::Dims{4, 3}));
}

TEST(InputShapes, SettledSizesAreDeclaredBehindOpaqueNodesToo) {
  const auto model = read_text(R"(<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]>
    g (float[n, 3] x) => (float[n, m] y) { y = my.domain.Unknown(x) })",
                               {{{"n", {4}}}, false});
  const auto written = parse_proto(*serialize_onnx(model.graph, *model.header));
  EXPECT_EQ(declared(written.graph().input(0)), (core::Dims{4, 3}));
  EXPECT_EQ(declared(written.graph().output(0)), (core::Dims{4, -1}));
}

TEST(InputShapes, NamesThatAreGoneMayBeSkipped) {
  const std::string bytes = write_checked(read_text(kModel, {{{"n", {4}}, {"s", {8}}}, false}));
  EXPECT_NE(error_of_bytes(bytes, {{{"n", {4}}}, false}), "no error");
  EXPECT_EQ(error_of_bytes(bytes, {{{"n", {4}}}, false, true}), "no error");
}

TEST(InputShapes, Errors) {
  EXPECT_EQ(error_with({}),
            "input 'x': the size of dimension 0 ('n') is open (give it, as in --shape n=1)");
  EXPECT_EQ(error_with({{"q", {1}}}),
            "a shape is given for 'q', but the model has no such input or dimension "
            "(its inputs are x, z; its open dimensions are n, s)");
  EXPECT_EQ(error_with({{"n", {1, 2}}}), "'n' is one dimension, but 2 sizes are given for it");
  EXPECT_EQ(error_with({{"n", {-1}}}), "the shape [-1] given for 'n' has a negative size");
  EXPECT_EQ(error_with({{"x", {1, 3, 8}}}),
            "input 'x': has 4 dimensions, but the shape [1, 3, 8] is given for it");
  EXPECT_EQ(error_with({{"x", {1, 4, 8, 8}}}),
            "input 'x': has size 3 in dimension 1, but 4 is given for it");
  EXPECT_EQ(error_with({{"x", {1, 3, 8, 9}}}),
            "input 'x': has size 8 in dimension 3, but 9 is given for it");
  EXPECT_EQ(error_with({{"x", {1, 3, 8, 8}}, {"z", {2, 3}}}),
            "input 'z': has size 1 in dimension 0, but 2 is given for it");
}

TEST(InputShapes, NamelessAndNegativeSizesAreOpen) {
  auto model = model_from_text(kModel);
  auto& shape = *model.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(0)->Clear();
  shape.mutable_dim(2)->set_dim_value(-1);
  shape.mutable_dim(3)->set_dim_value(-1);
  EXPECT_EQ(error_of_bytes(model.SerializeAsString(), {{{"n", {2}}}, false}),
            "input 'x': the size of dimension 0 is open (give its shape, as in --shape x=1,3,1,1)");
  const auto read =
      parse_onnx(model.SerializeAsString(), {{{"n", {2}}, {"x", {2, 3, 4, 4}}}, false});
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(shape_of(*read, 0), "[2, 3, 4, 4]");
}

TEST(InputShapes, InputWithoutShapeTakesAWholeOne) {
  auto model = model_from_text(kModel);
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const auto read = parse_onnx(model.SerializeAsString(), {{{"n", {2}}, {"x", {7}}}, false});
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(shape_of(*read, 0), "[7]");
}

constexpr const char* kDefault = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) })";

TEST(InputShapes, InputsWithDefaultValuesStayInputs) {
  const auto model = read_text(kDefault);
  ASSERT_EQ(model.graph.inputs().size(), 2u);
  EXPECT_TRUE(model.warnings.empty());
  ASSERT_EQ(model.defaults.size(), 2u);
  EXPECT_FALSE(model.defaults[0]);
  ASSERT_TRUE(model.defaults[1]);
  EXPECT_THAT(model.defaults[1]->to_doubles(), ElementsAre(1, 2));
  const auto written = parse_proto(write_checked(model)).graph();
  EXPECT_EQ(written.input_size(), 2);
  ASSERT_EQ(written.initializer_size(), 1);
  EXPECT_EQ(written.initializer(0).name(), "w");
}

TEST(InputShapes, DefaultsThatNobodyReadsAnyMoreAreWritten) {
  const auto model = read_text(kDefault);
  core::GraphBuilder builder(model.graph);
  builder.set_outputs({(*ops::append(builder, "relu", {model.graph.inputs()[0]}))[0]});
  const auto graph = std::move(builder).finish();
  const auto written = parse_proto(serialize_onnx(*graph, *model.header).value()).graph();
  EXPECT_EQ(written.input_size(), 2);
  EXPECT_EQ(written.initializer_size(), 1);
}

TEST(InputShapes, InputsWithDefaultValuesAreConstantsIfThatIsAskedFor) {
  const auto bytes = model_from_text(kDefault).SerializeAsString();
  const auto model = parse_onnx(bytes, {.shapes = {}, .fold_default_inputs = true});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->graph.inputs().size(), 1u);
  EXPECT_TRUE(model->warnings.empty());
  EXPECT_EQ(parse_proto(write_checked(*model)).graph().input_size(), 1);
}

TEST(InputShapes, ADefaultSettlesOpenSizes) {
  // The text form has no open sizes beside values.
  const auto with_open_default = [](const char* text) {
    auto model = model_from_text(text);
    auto& type = *model.mutable_graph()->mutable_input(1)->mutable_type();
    type.mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("n");
    return model.SerializeAsString();
  };
  const auto model = parse_onnx(with_open_default(kDefault));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(shape_of(*model, 1), "[2]");
  EXPECT_EQ(error_of_bytes(with_open_default(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n] x, float[2] w = {1, 2}) => (float[n] y) { y = Add(x, w) })"),
                           {{{"n", {3}}}, false}),
            "input 'w': has size 3 in dimension 0, but 2 is given for it");
}

/// Before IR version 4 every weight was an input, and no runtime let it be given.
TEST(InputShapes, DefaultsThatSizesComeOutOfAreConstantsAndTold) {
  const auto read = [](int ir_version) {
    auto proto = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
        g (float[2, 3] x, int64[1] s = {6}, float[6] w = {1, 2, 3, 4, 5, 6}) => (float[6] y)
        { k = Neg(s) m = Neg(k) t = Reshape(x, m) y = Mul(t, w) })");
    proto.set_ir_version(ir_version);
    return parse_onnx(proto.SerializeAsString()).value();
  };
  const auto today = read(8);
  EXPECT_THAT(today.warnings,
              ElementsAre("inputs whose default value decides on sizes, or is of a type that is "
                          "not understood, are taken for constants, and a rewritten model has no "
                          "such input: s"));
  EXPECT_EQ(today.graph.inputs().size(), 2u);
  const auto old = read(3);
  EXPECT_TRUE(old.warnings.empty());
  EXPECT_EQ(old.graph.inputs().size(), 1u);
}

}  // namespace
}  // namespace soapstone::models
