// Parts of a model that are not understood are kept: operators without a reader, subgraphs and the
// tensors that they read from outside, element types that we do not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/definition/registry.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOpaqueHead =
    R"(<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]> g )";

std::string opaque_body(const std::string& text) { return std::string(kOpaqueHead) + text; }

TEST(Opaque, StandardOperatorWithoutAReader) {
  const auto model = read_text(opaque_body("(float[2,8] x) => (float[2,8] y)"
                                           " { a = Relu(x) [\"hard\"] y = Hardmax<axis = 1>(a) }"));
  EXPECT_EQ(operators(model.graph), "relu opaque:Hardmax");
  ASSERT_EQ(model.opaque_nodes.size(), 1u);
  EXPECT_EQ(model.opaque_nodes[0].name, "hard");
  EXPECT_EQ(model.opaque_nodes[0].op_type, "Hardmax");
  EXPECT_FALSE(model.opaque_nodes[0].reason.empty());
  const auto& type = model.graph.tensor(model.graph.outputs()[0]).type;
  EXPECT_EQ(type, (core::TensorType{core::DataType::kFloat32, {2, 8}, true}));
  const auto written = parse_proto(write_checked(model));
  EXPECT_EQ(op_types(written), "Relu Hardmax");
  EXPECT_EQ(written.graph().node(1).name(), "hard");
  EXPECT_EQ(written.graph().node(1).attribute(0).i(), 1);
}

TEST(Opaque, CustomDomainTakesItsTypesFromTheFile) {
  const std::string text =
      opaque_body("(float[2,8] x) => (float[2,5] y)"
                  " <float[2,5] a> { a = com.example.Magic<power = 7>(x) y = Relu(a) }");
  const auto model = read_text(text);
  EXPECT_EQ(operators(model.graph), "opaque:Magic relu");
  EXPECT_EQ(model.opaque_nodes.at(0).op_type, "com.example.Magic");
  const auto written = parse_proto(write_checked(model));
  EXPECT_EQ(written.graph().node(0).domain(), "com.example");
  EXPECT_EQ(written.opset_import_size(), 2);
  EXPECT_EQ(written.graph().node(0).attribute(0).i(), 7);
}

TEST(Opaque, WhatFollowsAnUnknownShapeIsKeptToo) {
  const auto model = read_text(opaque_body(
      "(float[2,8] x) => (float[a,b] y) { t = com.example.Magic(x) u = Relu(t) y = Neg(u) }"));
  EXPECT_EQ(operators(model.graph), "opaque:Magic opaque:Relu opaque:Neg");
  EXPECT_EQ(model.opaque_nodes.at(1).reason,
            "the elements of 't' are not numbers that are understood");
  EXPECT_EQ(op_types(parse_proto(write_checked(model))), "Magic Relu Neg");
}

constexpr const char* kIf = R"((bool c, float[2] x, float[2] z) => (float[2] y) {
    outer = Relu(x)
    other = Identity(z)
    y = If(c) <
      then_branch = t () => (float[2] a) { inner = Neg(outer) a = Add(inner, other) },
      else_branch = e () => (float[2] b) {
        b = If(c) <then_branch = tt () => (float[2] p) { p = Exp(outer) },
                   else_branch = ee () => (float[2] q) { q = Identity(x) }> }> })";

TEST(Opaque, CapturedTensorsAreInputs) {
  const auto model = read_text(opaque_body(kIf));
  EXPECT_EQ(operators(model.graph), "relu opaque:If");
  const core::Node& node = model.graph.node(model.graph.order()[1]);
  std::vector<std::string> names;
  for (core::TensorId id : node.inputs) names.push_back(model.graph.tensor(id).name);
  // c, then what the branches read: outer, other (which is z), c again, x.
  EXPECT_EQ(names, (std::vector<std::string>{"c", "outer", "z", "c", "x"}));
}

TEST(Opaque, CapturedNamesStillResolveWhenWritten) {
  const auto model = read_text(opaque_body(kIf));
  const auto written = parse_proto(write_checked(model));
  EXPECT_EQ(op_types(written), "Relu If");
  const auto again = parse_onnx(written.SerializeAsString());
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(operators(again->graph), "relu opaque:If");
}

TEST(Opaque, CapturedTensorMayBeReplaced) {
  // A rewrite puts another node where a captured tensor came from.
  const auto model = read_text(opaque_body(kIf));
  core::GraphBuilder builder(model.graph);
  const core::TensorId relu = model.graph.node(model.graph.order()[0]).outputs[0];
  const auto clipped =
      ops::append(builder, "clip", {model.graph.inputs()[1]}, {{"min", 0.0}, {"max", 9.0}});
  ASSERT_TRUE(clipped.ok());
  builder.replace_uses(relu, (*clipped)[0]);
  auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const auto written = parse_proto(write_checked(*graph, *model.header));
  EXPECT_EQ(op_types(written), "Clip If");
}

TEST(Opaque, FreshNamesAvoidThoseInsideSubgraphs) {
  const auto model = read_text(opaque_body(R"((bool c, float[2] x) => (float[2] y) {
      a = Relu(x)
      y = If(c) <then_branch = t () => (float[2] clip) { clip = Neg(a) },
                 else_branch = e () => (float[2] relu) { relu = Exp(a) }> })"));
  core::GraphBuilder builder(model.graph);
  const core::TensorId relu = model.graph.node(model.graph.order()[0]).outputs[0];
  const auto clipped = ops::append(builder, "clip", {model.graph.inputs()[1]}, {{"min", 0.0}});
  ASSERT_TRUE(clipped.ok());
  builder.replace_uses(relu, (*clipped)[0]);
  auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const auto written = parse_proto(write_checked(*graph, *model.header));
  EXPECT_NE(written.graph().node(0).output(0), "clip");
}

TEST(Opaque, OptionalInputsAndOutputsKeepTheirPlaces) {
  const auto model = read_text(opaque_body(
      "(float[5,1,4] x, float[1,12,4] w, float[1,12,3] r, float[1,1,3] h0) => (float[1,1,3] h)"
      " { u = Neg(x) , h = LSTM<hidden_size = 3>(u, w, r, , , h0) }"));
  EXPECT_EQ(operators(model.graph), "neg opaque:LSTM");
  const auto lstm = parse_proto(write_checked(model)).graph().node(1);
  EXPECT_EQ(lstm.input_size(), 6);
  EXPECT_EQ(lstm.input(3), "");
  EXPECT_EQ(lstm.input(5), "h0");
  EXPECT_EQ(lstm.output(0), "");
  EXPECT_EQ(lstm.output(1), "h");
}

TEST(Opaque, NodeThatOurRuleRefusesAndOnnxDoesNot) {
  // The channels do not fit, which ONNX's inference does not see.
  const auto model = read_text(
      opaque_body("(float[1,3,8,8] x, float[4,5,3,3] w) => (float[1,4,6,6] y) { y = Conv(x, w) }"));
  EXPECT_EQ(operators(model.graph), "opaque:Conv");
  EXPECT_THAT(model.opaque_nodes.at(0).reason, HasSubstr("conv"));
}

TEST(Opaque, SequencesKeepTheirTypes) {
  const auto model = read_text(opaque_body(R"((float[2] x, float[2] z) => (float[2] y) {
      s = SequenceConstruct(x, z) i = Constant<value_int = 1>()
      e = SequenceAt(s, i) y = Relu(e) })"));
  EXPECT_EQ(operators(model.graph), "opaque:SequenceConstruct opaque:SequenceAt relu");
  write_checked(model);
}

TEST(Opaque, TextsAreKept) {
  auto proto = model_from_text(
      opaque_body("(string[2] x) => (bool[2] y) { y = Equal(x, w) w = Identity(x) }"));
  proto.mutable_opset_import(0)->set_version(19);
  auto& weight = *proto.mutable_graph()->add_initializer();
  weight.set_name("t");
  weight.set_data_type(onnx::TensorProto::STRING);
  weight.add_dims(1);
  weight.add_string_data("text");
  proto.mutable_graph()->mutable_node(0)->set_input(1, "t");
  const auto model = parse_onnx(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(operators(model->graph), "opaque:Constant opaque:Equal");
  const auto written = parse_proto(write_checked(*model));
  EXPECT_EQ(op_types(written), "Equal");
  EXPECT_EQ(written.graph().initializer(0).name(), "t");
  EXPECT_EQ(written.graph().initializer(0).string_data(0), "text");
}

/// A model with the weight `w`, which the model's one node reads.
onnx::ModelProto model_of_weight(int type, const std::string& raw, std::int64_t count) {
  auto proto = model_from_text(R"(<ir_version: 10, opset_import: ["" : 21]>
      g (float[2] x, float s) => (float[16] y) { y = DequantizeLinear(w, s) w = Identity(x) })");
  auto& graph = *proto.mutable_graph();
  graph.mutable_node()->DeleteSubrange(1, 1);
  auto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(type);
  weight.add_dims(count);
  weight.set_raw_data(raw);
  return proto;
}

TEST(Opaque, WeightsOfTypesThatWeLackStayWeights) {
  const struct {
    int type;
    std::size_t bytes;
  } cases[] = {{onnx::TensorProto::INT4, 8},
               {onnx::TensorProto::UINT4, 8},
               {onnx::TensorProto::FLOAT8E4M3FN, 16},
               {onnx::TensorProto::FLOAT8E5M2, 16}};
  for (const auto& [type, bytes] : cases) {
    const auto proto = model_of_weight(type, std::string(bytes, '\x21'), 16);
    const auto model = parse_onnx(proto.SerializeAsString());
    ASSERT_TRUE(model.ok()) << model.error().to_string();
    EXPECT_EQ(model->opaque_nodes.at(0).name, "w");
    const auto written = parse_proto(write_checked(*model));
    EXPECT_EQ(op_types(written), "DequantizeLinear");
    ASSERT_EQ(written.graph().initializer_size(), 1);
    EXPECT_EQ(written.graph().initializer(0).SerializeAsString(),
              proto.graph().initializer(0).SerializeAsString());
  }
}

TEST(Opaque, ExternalWeightsOfTypesThatWeLackGoToAFileAgain) {
  const TemporaryFolder folder;
  const std::string bytes(2048, '\x21');
  write_file(folder / "weights.bin", "...." + bytes);
  auto proto = model_of_weight(onnx::TensorProto::INT4, {}, 4095);  // an odd number of halves
  auto& weight = *proto.mutable_graph()->mutable_initializer(0);
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair("location", "weights.bin"), std::pair("offset", "4"),
                                   std::pair("length", "2048")}) {
    weight.add_external_data()->set_key(key);
    weight.mutable_external_data()->rbegin()->set_value(value);
  }
  proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  write_file(folder / "model.onnx", proto.SerializeAsString());
  const auto model = read_onnx(folder / "model.onnx");
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  ASSERT_TRUE(write_onnx(model->graph, *model->header, folder / "out.onnx").ok());
  const auto written = parse_proto(read_file(folder / "out.onnx"));
  EXPECT_EQ(written.graph().initializer(0).data_location(), onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(read_file(folder / "out.onnx.data"), bytes);
}

TEST(Opaque, DefaultDomainOperatorThatOnnxDoesNotHave) {
  auto proto = model_from_text(opaque_body("(float[2] x) => (float[2] y) { y = Relu(x) }"));
  proto.mutable_graph()->mutable_node(0)->set_op_type("Levitate");
  const auto model = parse_onnx(proto.SerializeAsString());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->opaque_nodes.at(0).reason, "ONNX has no operator Levitate in opset 17");
}

TEST(Opaque, DeadNodesAreNotReported) {
  const auto model = read_text(
      opaque_body("(float[2] x) => (float[2] y) { d = com.example.Magic(x) y = Relu(x) }"));
  EXPECT_TRUE(model.opaque_nodes.empty());
  EXPECT_EQ(operators(model.graph), "relu");
}

TEST(Opaque, StructureDoesNotDependOnNames) {
  const auto model_of = [](const std::string& a, const std::string& b) {
    return read_text(opaque_body("(float[2] x) => (float[2] y) { " + a +
                                 " = com.example.Magic(x) [\"" + b + "\"] y = com.example.Magic(" +
                                 a + ") }"));
  };
  EXPECT_EQ(model_of("p", "n1").graph.hash(), model_of("q", "n2").graph.hash());
}

TEST(Opaque, GraphThatHoldsNoOnnxNodeCannotBeWritten) {
  core::GraphBuilder builder("g");
  const auto x = builder.add_input("x", {core::DataType::kFloat32, {2}, true});
  const auto y = builder.add_node(ops::opaque_schema(),
                                  {{"domain", std::string()},
                                   {"op_type", std::string("Relu")},
                                   {"proto", std::string("nonsense")}},
                                  {x}, {{core::DataType::kFloat32, {2}, true}}, "n");
  builder.set_outputs(y);
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  const auto bytes = serialize_onnx(*graph, *new_header());
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().to_string(),
            "node 'n' (opaque): the opaque node does not hold an ONNX node");
}

TEST(Opaque, LocalFunctionsAreInlined) {
  const auto model = read_text(R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
    g (float[2] x) => (float[2] y) { a = f.twice(x) y = f.twice(a) }
    <domain: "f", opset_import: ["" : 17]> twice (p) => (q) { t = Relu(p) q = Neg(t) })");
  EXPECT_EQ(operators(model.graph), "relu neg relu neg");
  write_checked(model);
}

TEST(Opaque, FunctionOfAnotherOpsetStaysAFunction) {
  const auto model = read_text(R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
    g (float[2] x) => (float[2] y) { y = f.once(x) }
    <domain: "f", opset_import: ["" : 15]> once (p) => (q) { q = Relu(p) })");
  EXPECT_EQ(operators(model.graph), "opaque:once");
  const auto written = serialize_onnx(model.graph, *model.header);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(parse_proto(*written).functions_size(), 1);
}

}  // namespace
}  // namespace soapstone::models
