// Every way in which ONNX stores a constant tensor, inside the model and beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "models/onnx/writing/onnx_export.h"
#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using ::testing::HasSubstr;
using Element = onnx::TensorProto;

/// The constant `w` of a model that returns it.
core::LiteralPtr read_weight(const onnx::TensorProto& tensor) {
  auto model = model_from_text(
      R"(<ir_version: 10, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Identity(w) w = Relu(x) })");
  model.mutable_graph()->mutable_node()->DeleteSubrange(1, 1);
  *model.mutable_graph()->add_initializer() = tensor;
  const auto read = parse_onnx(model.SerializeAsString());
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  return read ? read->graph.tensor(read->graph.outputs()[0]).value : nullptr;
}

/// The values of a Constant node with this attribute.
std::vector<double> read_constant(const std::string& attribute, const std::string& type) {
  const OnnxModel read = read_text(R"(<ir_version: 10, opset_import: ["" : 17]> g () => ()" + type +
                                   " y) { y = Constant <" + attribute + "> () }");
  return read.graph.tensor(read.graph.outputs()[0]).value->to_doubles();
}

TEST(Weights, AttributesOfConstants) {
  EXPECT_EQ(read_constant("value = float {5}", "float"), std::vector{5.0});
  EXPECT_EQ(read_constant("value_float = 1.5", "float"), std::vector{1.5});
  EXPECT_EQ(read_constant("value_int = 7", "int64"), std::vector{7.0});
  EXPECT_EQ(read_constant("value_floats = [1.0, 2.0]", "float[2]"), (std::vector{1.0, 2.0}));
  EXPECT_EQ(read_constant("value_ints = [3, 4]", "int64[2]"), (std::vector{3.0, 4.0}));
}

TEST(Weights, TextsInAConstantAreOpaque) {
  const OnnxModel read = read_text(R"(<ir_version: 10, opset_import: ["" : 17]>
      g () => (string y) { y = Constant <value_string = "x"> () })");
  EXPECT_EQ(operators(read.graph), "opaque:Constant");
}

onnx::TensorProto two(int type) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(type);
  tensor.add_dims(2);
  return tensor;
}

template <class T>
onnx::TensorProto raw(int type, T a, T b) {
  auto tensor = two(type);
  const T values[] = {a, b};
  tensor.set_raw_data(values, sizeof values);
  return tensor;
}

TEST(Weights, RawData) {
  EXPECT_EQ(read_weight(raw<float>(Element::FLOAT, 1.5f, -2))->to_doubles(),
            (std::vector{1.5, -2.0}));
  EXPECT_EQ(read_weight(raw<double>(Element::DOUBLE, 1.5, -2))->to_doubles(),
            (std::vector{1.5, -2.0}));
  EXPECT_EQ(read_weight(raw<std::uint16_t>(Element::FLOAT16, 0x3e00, 0xc000))->to_doubles(),
            (std::vector{1.5, -2.0}));
  EXPECT_EQ(read_weight(raw<std::uint16_t>(Element::BFLOAT16, 0x3fc0, 0xc000))->to_doubles(),
            (std::vector{1.5, -2.0}));
  EXPECT_EQ(read_weight(raw<std::int64_t>(Element::INT64, 1ll << 40, -2))->to_ints(),
            (std::vector<std::int64_t>{1ll << 40, -2}));
  EXPECT_EQ(read_weight(raw<std::int8_t>(Element::INT8, 1, -2))->to_ints(),
            (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(read_weight(raw<std::uint8_t>(Element::UINT8, 1, 254))->to_ints(),
            (std::vector<std::int64_t>{1, 254}));
  EXPECT_EQ(read_weight(raw<std::uint8_t>(Element::BOOL, 1, 0))->to_ints(),
            (std::vector<std::int64_t>{1, 0}));
}

TEST(Weights, Numbers) {
  auto floats = two(Element::FLOAT);
  for (float v : {1.5f, -2.0f}) floats.add_float_data(v);
  EXPECT_EQ(read_weight(floats)->to_doubles(), (std::vector{1.5, -2.0}));
  auto doubles = two(Element::DOUBLE);
  for (double v : {1.5, -2.0}) doubles.add_double_data(v);
  EXPECT_EQ(read_weight(doubles)->to_doubles(), (std::vector{1.5, -2.0}));
  auto halves = two(Element::FLOAT16);
  for (int v : {0x3e00, 0xc000}) halves.add_int32_data(v);
  EXPECT_EQ(read_weight(halves)->to_doubles(), (std::vector{1.5, -2.0}));
  for (int type : {Element::INT32, Element::INT16, Element::INT8}) {
    auto ints = two(type);
    for (int v : {1, -2}) ints.add_int32_data(v);
    EXPECT_EQ(read_weight(ints)->to_ints(), (std::vector<std::int64_t>{1, -2})) << type;
  }
  for (int type : {Element::UINT16, Element::UINT8, Element::BOOL}) {
    auto ints = two(type);
    for (int v : {1, 0}) ints.add_int32_data(v);
    EXPECT_EQ(read_weight(ints)->to_ints(), (std::vector<std::int64_t>{1, 0})) << type;
  }
  for (int type : {Element::UINT64, Element::UINT32}) {
    auto ints = two(type);
    for (unsigned v : {1u, 4000000000u}) ints.add_uint64_data(v);
    EXPECT_EQ(read_weight(ints)->to_ints(), (std::vector<std::int64_t>{1, 4000000000})) << type;
  }
}

TEST(Weights, EmptyAndScalar) {
  auto empty = two(Element::FLOAT);
  empty.set_dims(0, 0);
  EXPECT_EQ(read_weight(empty)->count(), 0);
  onnx::TensorProto scalar;
  scalar.set_name("w");
  scalar.set_data_type(Element::FLOAT);
  scalar.add_float_data(3);
  EXPECT_EQ(read_weight(scalar)->to_doubles(), std::vector{3.0});
}

TEST(Weights, TypesWithoutALiteralStayInTheModel) {
  auto tensor = two(Element::FLOAT8E4M3FN);
  tensor.set_raw_data("ab");
  auto model = model_from_text(
      R"(<ir_version: 9, opset_import: ["" : 19]> g (float[2] x) => (float[2] y) { w = Relu(x) c = Cast<to = 1>(w) y = Add(x, c) })");
  model.mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  *model.mutable_graph()->add_initializer() = tensor;
  const auto read = parse_onnx(model.SerializeAsString());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(operators(read->graph), "opaque:Constant opaque:Cast add");
  write_checked(*read);
}

constexpr const char* kWeightsModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[4] x) => (float[4] y) { y = Add(x, w) w = Relu(x) })";

/// A model whose weight w, f32[4], is in `location`.
std::string external_model(const std::string& location, const std::string& offset = "8",
                           const std::string& length = "16") {
  auto model = model_from_text(kWeightsModel);
  model.mutable_graph()->mutable_node()->DeleteSubrange(1, 1);
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor = two(Element::FLOAT);
  tensor.set_dims(0, 4);
  tensor.set_data_location(Element::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair{"location", location}, {"offset", offset}, {"length", length}}) {
    if (value.empty()) continue;
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model.SerializeAsString();
}

std::string weight_file() {
  const float values[] = {0, 0, 1, 2, 3, 4};
  return {reinterpret_cast<const char*>(values), sizeof values};
}

std::string error_of_file(const std::filesystem::path& path) {
  const auto model = read_onnx(path);
  return model ? "no error" : model.error().to_string();
}

TEST(ExternalWeights, AreReadInPlace) {
  const TemporaryFolder directory;
  std::filesystem::create_directory(directory / "sub");
  write_file(directory / "m.onnx", external_model("sub/w.bin"));
  write_file(directory / "sub" / "w.bin", weight_file());
  const auto model = read_onnx(directory / "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  const core::Node& add = model->graph.node(model->graph.order()[0]);
  EXPECT_EQ(model->graph.tensor(add.inputs[1]).value->to_doubles(),
            (std::vector<double>{1, 2, 3, 4}));
  const auto parsed = parse_onnx(external_model("sub/w.bin"), {}, directory.path());
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
}

TEST(ExternalWeights, WithoutLengthAndUnaligned) {
  const TemporaryFolder directory;
  write_file(directory / "m.onnx", external_model("w.bin", "1", ""));
  write_file(directory / "w.bin", weight_file());
  EXPECT_EQ(error_of_file(directory / "m.onnx"), "no error");
}

TEST(ExternalWeights, Errors) {
  const TemporaryFolder directory;
  write_file(directory / "w.bin", weight_file());
  const auto error = [&](const std::string& model) {
    write_file(directory / "m.onnx", model);
    const std::string text = error_of_file(directory / "m.onnx");
    const std::string prefix = (directory / "m.onnx").string() + ": tensor 'w': ";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  };
  EXPECT_THAT(error(external_model("none.bin")),
              HasSubstr("none.bin: cannot be read: No such file"));
  EXPECT_THAT(error(external_model(".")), HasSubstr("cannot be read: it is a directory"));
  const std::string outside =
      "' is outside the model's directory (keep external weights beside the model)";
  EXPECT_EQ(error(external_model("../w.bin")), "its external location '../w.bin" + outside);
  EXPECT_EQ(error(external_model("a/../../w.bin")),
            "its external location 'a/../../w.bin" + outside);
  EXPECT_EQ(error(external_model("/etc/passwd")), "its external location '/etc/passwd" + outside);
  const std::string controls =
      "' has control characters (give the file a plain name, and export the model again)";
  EXPECT_EQ(error(external_model(std::string("w.bin\0x", 7))),
            "its external location 'w.bin\\x00x" + controls);
  for (const char* name : {"w.bin\n", "\x1b[2Jw.bin", "w\x7f.bin", "w\xc2\x9b.bin"})
    EXPECT_THAT(error(external_model(name)), HasSubstr(controls)) << name;
  EXPECT_THAT(error(external_model("w\xc3\xa4.bin")), HasSubstr("cannot be read: No such file"));
  EXPECT_EQ(error(external_model("w.bin", "12")),
            "needs bytes 12 to 28 of 'w.bin', which has 24 "
            "(the file is truncated or belongs to another model)");
  EXPECT_THAT(error(external_model("w.bin", "18446744073709551615")), HasSubstr("which has 24"));
  EXPECT_EQ(error(external_model("w.bin", "0", "12")),
            "has 12 bytes of external data, but its dimensions need 16");
  EXPECT_EQ(error(external_model("w.bin", "0x8")),
            "its external offset is '0x8', which is no number");
}

TEST(ExternalWeights, LinksOutOfTheDirectoryAreRefused) {
  const TemporaryFolder directory, elsewhere;
  write_file(elsewhere / "w.bin", weight_file());
  write_file(directory / "m.onnx", external_model("w.bin"));
  std::filesystem::create_symlink(elsewhere / "w.bin", directory / "w.bin");
  EXPECT_THAT(error_of_file(directory / "m.onnx"),
              HasSubstr("its external location 'w.bin' is a link out of the model's directory"));
}

TEST(ExternalWeights, LinkedBesideALinkedModel) {
  // Files as a download cache lays them out.
  const TemporaryFolder snapshot, blobs;
  write_file(blobs / "model", external_model("w.bin"));
  write_file(blobs / "weights", weight_file());
  std::filesystem::create_symlink(blobs / "model", snapshot / "m.onnx");
  std::filesystem::create_symlink(blobs / "weights", snapshot / "w.bin");
  EXPECT_EQ(error_of_file(snapshot / "m.onnx"), "no error");
}

constexpr const char* kTwoWeights = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[512,1] x) => (float[512,3] y) { a = ConstantOfShape(s) s = Shape(x) b = Add(a, x)
    c = Add(b, w) y = Mul(c, v) w = Relu(x) v = Relu(x) })";

/// Reads w, f32[512,3], and v, f32[3].
std::string weights_model() {
  auto model = model_from_text(kTwoWeights);
  model.mutable_graph()->mutable_node()->DeleteSubrange(5, 2);
  for (const auto& [name, rows] : {std::pair{"w", 512}, {"v", 1}}) {
    auto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(Element::FLOAT);
    tensor.add_dims(rows);
    tensor.add_dims(3);
    for (int i = 0; i < 3 * rows; ++i) tensor.add_float_data(static_cast<float>(i));
  }
  return model.SerializeAsString();
}

TEST(ExternalWeights, AreWrittenBesideALargeModel) {
  const TemporaryFolder directory;
  const auto model = parse_onnx(weights_model());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  const auto path = directory / "m.onnx";
  ASSERT_TRUE(write_onnx_bounded(model->graph, *model->header, path, 4096).ok());
  EXPECT_EQ(std::filesystem::file_size(directory / "m.onnx.data"), 512u * 3 * 4);
  EXPECT_LT(std::filesystem::file_size(path), 2000u);
  const auto again = read_onnx(path);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->graph.hash(), model->graph.hash());
  // Written over itself: the weights are read from the file that is replaced.
  ASSERT_TRUE(write_onnx(again->graph, *again->header, path).ok());
  EXPECT_EQ(std::filesystem::file_size(directory / "m.onnx.data"), 512u * 3 * 4);
  const auto third = read_onnx(path);
  ASSERT_TRUE(third.ok()) << third.error().to_string();
  EXPECT_EQ(third->graph.hash(), model->graph.hash());
}

TEST(ExternalWeights, SmallModelsKeepTheirWeights) {
  const TemporaryFolder directory;
  const auto model = parse_onnx(weights_model());
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE(write_onnx(model->graph, *model->header, directory / "m.onnx").ok());
  EXPECT_FALSE(std::filesystem::exists(directory / "m.onnx.data"));
}

TEST(ExternalWeights, InsideOpaqueNodesAreEmbedded) {
  const TemporaryFolder directory;
  auto model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[4] x) => (float[4] y) {
      y = If(c) <then_branch = t () => (float[4] a) { a = Add(x, w) w = Relu(x) },
                 else_branch = e () => (float[4] b) { b = Neg(x) }> })");
  auto& branch = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  branch.mutable_node()->DeleteSubrange(1, 1);
  *branch.add_initializer() = parse_proto(external_model("w.bin")).graph().initializer(0);
  write_file(directory / "m.onnx", model.SerializeAsString());
  write_file(directory / "w.bin", weight_file());
  const auto read = read_onnx(directory / "m.onnx");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const auto written = parse_proto(write_checked(*read));
  EXPECT_EQ(written.graph().node(0).attribute(0).g().initializer(0).raw_data().size(), 16u);
}

}  // namespace
}  // namespace soapstone::models
