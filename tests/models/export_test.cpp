// Export: the parts that a written model keeps of the one that was read, and the nodes written for
// graphs that ONNX expresses differently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/onnx/reading/onnx_document.h"
#include "ops/definition/registry.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHead = R"(<ir_version: 8, opset_import: ["" : 17]> g )";

std::string body(const std::string& text) { return std::string(kHead) + text; }

onnx::ModelProto written(const std::string& text) {
  return parse_proto(write_checked(read_text(body(text))));
}

TEST(Export, KeepsEverythingButTheGraph) {
  auto original = model_from_text(R"(<ir_version: 9, opset_import: ["" : 19, "com.example" : 3],
      producer_name: "maker", producer_version: "1.2", domain: "org.model", model_version: 7,
      doc_string: "what it is", metadata_props: ["key": "value"]>
    network (float[2] x, float[5] unused) => (float[2] y) { y = Relu(x) })");
  original.mutable_graph()->set_doc_string("what it does");
  const auto model = parse_onnx(original.SerializeAsString());
  ASSERT_TRUE(model.ok());
  auto result = parse_proto(write_checked(*model));
  result.mutable_graph()->clear_node();
  original.mutable_graph()->clear_node();
  EXPECT_EQ(result.SerializeAsString(), original.SerializeAsString());
}

TEST(Export, KeepsNamesOfTensorsAndNodes) {
  const auto model = written("(float[2] x) => (float[2] y) <float[2] w = {1, 2}>"
                             " { [\"first\"] t = Relu(x) [\"second\"] y = Add(t, w) }");
  EXPECT_EQ(model.graph().node(0).name(), "first");
  EXPECT_EQ(model.graph().node(0).output(0), "t");
  EXPECT_EQ(model.graph().node(1).input(1), "w");
  EXPECT_EQ(model.graph().node(1).output(0), "y");
  EXPECT_EQ(model.graph().initializer(0).name(), "w");
}

TEST(Export, DescribesTensorsInBetween) {
  const auto model = written("(float[2] x) => (float[2] y) { t = Relu(x) y = Neg(t) }");
  ASSERT_EQ(model.graph().value_info_size(), 1);
  EXPECT_EQ(model.graph().value_info(0).name(), "t");
  EXPECT_EQ(model.graph().value_info(0).type().tensor_type().shape().dim(0).dim_value(), 2);
}

TEST(Export, OutputThatIsAnInput) {
  const auto model = written("(float[2] x) => (float[2] y) { y = Identity(x) }");
  EXPECT_EQ(op_types(model), "Identity");
  EXPECT_EQ(model.graph().output(0).name(), "y");
}

TEST(Export, OutputThatIsAnInputUnderItsOwnName) {
  const auto model = written("(float[2] x) => (float[2] x, float[2] y) { y = Relu(x) }");
  EXPECT_EQ(op_types(model), "Relu");
  EXPECT_EQ(model.graph().output(0).name(), "x");
}

TEST(Export, OutputThatIsAConstant) {
  const auto model = written("(float[2] x) => (float[2] y, int64[1] z) <float[2] y = {1, 2}>"
                             " { z = Shape(x) }");
  EXPECT_EQ(op_types(model), "Identity Identity");
  EXPECT_EQ(model.graph().output(0).name(), "y");
  EXPECT_EQ(model.graph().output(1).name(), "z");
}

TEST(Export, OutputsThatAreOneTensor) {
  const auto model = written("(float[2] x) => (float[2] y, float[2] z, float[2] w)"
                             " { y = Relu(x) z = Identity(y) w = Identity(z) }");
  EXPECT_EQ(op_types(model), "Relu Identity Identity");
}

TEST(Export, EqualConstantsAreOneInitializer) {
  const auto model = written("(float[2] x) => (float[2] y)"
                             " <float[2] a = {1, 2}, float[2] b = {1, 2}, float[2] c = {1, 3}>"
                             " { p = Add(x, a) q = Mul(p, b) y = Sub(q, c) }");
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().node(1).input(1), "a");
}

TEST(Export, UnreadWeightsAreLeftOut) {
  const auto model = written("(float[2] x) => (float[2] y) <float[2] a = {1, 2}> { y = Relu(x) }");
  EXPECT_EQ(model.graph().initializer_size(), 0);
}

TEST(Export, OldModelsListWeightsAsInputs) {
  auto proto = model_from_text(body("(float[2] x, float[2] w) => (float[2] y)"
                                    " <float[2] w = {1, 2}> { y = Add(x, w) }"));
  proto.set_ir_version(3);
  proto.mutable_opset_import(0)->set_version(8);
  const auto model = parse_onnx(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->graph.inputs().size(), 1u);
  const auto result = parse_proto(write_checked(*model));
  EXPECT_EQ(result.ir_version(), 3);
  EXPECT_EQ(result.graph().input_size(), 2);
}

TEST(Export, OutputsWithoutTypeGetOne) {
  auto proto =
      model_from_text(body("(float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Neg(x) }"));
  proto.mutable_graph()->mutable_output(0)->clear_type();
  proto.mutable_graph()->mutable_output(1)->mutable_type()->mutable_tensor_type()->clear_shape();
  const auto model = parse_onnx(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  const auto result = parse_proto(write_checked(*model));
  for (const auto& output : result.graph().output()) {
    EXPECT_EQ(output.type().tensor_type().shape().dim(0).dim_value(), 2);
  }
}

core::Graph relu_graph(core::TensorType type) {
  core::GraphBuilder builder("made");
  const auto x = builder.add_input("x", std::move(type));
  const auto y = ops::append(builder, "relu", {x});
  EXPECT_TRUE(y.ok());
  builder.set_outputs({(*y)[0], (*y)[0], x});
  auto graph = std::move(builder).finish();
  EXPECT_TRUE(graph.ok());
  return *std::move(graph);
}

TEST(Export, GraphsThatWereNotRead) {
  const auto graph = relu_graph({core::DataType::kFloat32, {2, 3}, true});
  for (int opset = kOldestOpset; opset <= kNewestOpset; ++opset) {
    const auto model = parse_proto(write_checked(graph, *new_header(opset)));
    EXPECT_EQ(op_types(model), "Relu Identity Identity");
    EXPECT_EQ(model.graph().name(), "made");
    EXPECT_EQ(model.opset_import(0).version(), opset);
  }
}

TEST(Export, SymbolicSizesAreAnError) {
  core::GraphBuilder builder("g");
  const core::Size n(builder.symbols().intern("n"));
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {n}, true});
  builder.set_outputs(*ops::append(builder, "relu", {x}, {}, "r"));
  const auto graph = std::move(builder).finish();
  const auto bytes = serialize_onnx(*graph, *new_header());
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().to_string(), "node 'r' (relu): the tensor 'x' has symbolic sizes "
                                       "(give the sizes numbers before the graph is written)");
}

TEST(Export, HeaderOfAnotherModelIsAnError) {
  const auto model = read_text(body("(float[2] x) => (float[2] y) { y = Relu(x) }"));
  const auto bytes =
      serialize_onnx(relu_graph({core::DataType::kFloat32, {2}, true}), *model.header);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().message, "the model declares 1 outputs, but the graph has 3");
}

TEST(Export, OperatorThatTheOpsetCannotSay) {
  const auto model = read_text(R"(<ir_version: 8, opset_import: ["" : 7]>
    g (float[2,3] x) => (float[2,3] y) { y = Relu(x) })");
  core::GraphBuilder builder(model.graph);
  const auto erf = ops::append(builder, "erf", {model.graph.inputs()[0]}, {}, "e");
  ASSERT_TRUE(erf.ok());
  builder.set_outputs(*erf);
  const auto graph = std::move(builder).finish();
  const auto bytes = serialize_onnx(*graph, *model.header);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().code, core::ErrorCode::kUnsupported);
  EXPECT_THAT(bytes.error().to_string(), HasSubstr("node 'e' (erf): "));
}

TEST(WriteFile, ReplacesAtOnceAndLeavesNothingBehind) {
  const TemporaryFolder directory;
  const auto model = read_text(body("(float[2] x) => (float[2] y) { y = Relu(x) }"));
  write_file(directory / "m.onnx", "old");
  ASSERT_TRUE(write_onnx(model.graph, *model.header, directory / "m.onnx").ok());
  const auto again = read_onnx(directory / "m.onnx");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->graph.hash(), model.graph.hash());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(WriteFile, FollowsLinks) {
  const TemporaryFolder directory;
  const auto model = read_text(body("(float[2] x) => (float[2] y) { y = Relu(x) }"));
  write_file(directory / "target.onnx", "old");
  std::filesystem::create_symlink("target.onnx", directory / "link.onnx");
  ASSERT_TRUE(write_onnx(model.graph, *model.header, directory / "link.onnx").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link.onnx"));
  EXPECT_TRUE(read_onnx(directory / "target.onnx").ok());
}

TEST(WriteFile, Errors) {
  const TemporaryFolder directory;
  const auto model = read_text(body("(float[2] x) => (float[2] y) { y = Relu(x) }"));
  const auto error = [&](const std::filesystem::path& path) {
    const auto status = write_onnx(model.graph, *model.header, path);
    return status ? "no error" : status.error().to_string();
  };
  EXPECT_EQ(error(directory / "none" / "m.onnx"),
            (directory / "none/m.onnx").string() +
                ": cannot be written: No such file or directory "
                "(give a path in a directory that you may write to)");
  EXPECT_THAT(error(directory.path()), HasSubstr("cannot be written: it is a directory"));
  EXPECT_THAT(error("/dev/null"), HasSubstr("cannot be written: it is not a regular file"));
  struct stat status {};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(WriteFile, FailureLeavesTheOldFile) {
  const TemporaryFolder directory;
  const auto model = read_text(body("(float[2] x) => (float[2] y) { y = Relu(x) }"));
  write_file(directory / "m.onnx", "old");
  EXPECT_FALSE(write_onnx(relu_graph({core::DataType::kFloat32, {2}, true}), *model.header,
                          directory / "m.onnx")
                   .ok());
  EXPECT_EQ(read_file(directory / "m.onnx"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

}  // namespace
}  // namespace soapstone::models
