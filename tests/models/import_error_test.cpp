// One case for every message that a broken model file can cause, and that no file crashes us.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/models/onnx_text.h"

namespace soapstone::models {
namespace {

using ::testing::HasSubstr;

constexpr const char* kBrokenHead = R"(<ir_version: 8, opset_import: ["" : 17]> g )";

/// A change to the model `y = Relu(x)`, and what is said about it.
struct BrokenProto {
  const char* name;
  void (*breaks)(onnx::ModelProto&);
  const char* message;
};
void PrintTo(const BrokenProto& c, std::ostream* out) { *out << c.name; }

onnx::NodeProto& first_node(onnx::ModelProto& m) { return *m.mutable_graph()->mutable_node(0); }

onnx::TensorProto& add_weight(onnx::ModelProto& m, std::initializer_list<std::int64_t> dims) {
  auto& tensor = *m.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

void add_external(onnx::ModelProto& m, const char* key, const char* value) {
  auto& tensor = add_weight(m, {2});
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

void make_function_call_itself(onnx::ModelProto& m) {
  m.set_ir_version(8);
  auto& import = *m.add_opset_import();
  import.set_domain("f");
  import.set_version(1);
  auto& function = *m.add_functions();
  function.set_domain("f");
  function.set_name("f");
  function.add_input("a");
  function.add_output("b");
  auto& call = *function.add_node();
  call.set_op_type("f");
  call.set_domain("f");
  call.add_input("a");
  call.add_output("b");
  first_node(m).set_op_type("f");
  first_node(m).set_domain("f");
}

const BrokenProto kBrokenProtos[] = {
    {"no_ir_version", [](auto& m) { m.clear_ir_version(); },
     "is not an ONNX model: it has no IR version"},
    {"new_ir_version", [](auto& m) { m.set_ir_version(1000); },
     "IR version 1000 is newer than the newest one known"},
    {"no_graph", [](auto& m) { m.clear_graph(); }, "is not an ONNX model: it has no graph"},
    {"no_opset", [](auto& m) { m.clear_opset_import(); },
     "the model names no version of the standard operators (opsets 7 to 27 are read)"},
    {"old_opset", [](auto& m) { m.mutable_opset_import(0)->set_version(6); },
     "opset 6 is not supported; opsets 7 to 27 are"},
    {"new_opset", [](auto& m) { m.mutable_opset_import(0)->set_version(28); },
     "opset 28 is not supported"},
    {"two_opsets",
     [](auto& m) {
       auto& import = *m.add_opset_import();
       import.set_domain("ai.onnx");
       import.set_version(15);
     },
     "it uses opsets 17 and 15 of one domain"},
    {"unknown_domain", [](auto& m) { first_node(m).set_domain("nowhere"); },
     "node of 'y' (nowhere.Relu): No opset import for domain 'nowhere'"},
    {"no_operator", [](auto& m) { first_node(m).clear_op_type(); },
     "node of 'y' (): names no operator"},
    {"no_outputs", [](auto& m) { m.mutable_graph()->clear_output(); }, "the graph has no outputs"},
    {"output_twice", [](auto& m) { m.mutable_graph()->add_output()->set_name("y"); },
     "the output 'y' is listed twice"},
    {"output_from_nowhere", [](auto& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); },
     "nothing produces the graph's output 'z'"},
    {"reads_nothing", [](auto& m) { first_node(m).set_input(0, "z"); },
     "node of 'y' (Relu): reads 'z', which nothing produces"},
    {"defined_twice",
     [](auto& m) {
       auto& node = *m.mutable_graph()->add_node();
       node = m.graph().node(0);
       node.set_name("again");
     },
     "node 'again' (Relu): the tensor 'y' is defined twice"},
    {"input_twice", [](auto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); },
     "the tensor 'x' is defined twice"},
    {"weight_twice",
     [](auto& m) {
       add_weight(m, {1}).add_float_data(1);
       add_weight(m, {1}).add_float_data(1);
     },
     "the tensor 'w' is defined twice"},
    {"nameless_input", [](auto& m) { m.mutable_graph()->add_input(); },
     "an input or initializer of the graph has no name"},
    {"cycle",
     [](auto& m) {
       auto& node = *m.mutable_graph()->add_node();
       node.set_op_type("Neg");
       node.add_input("y");
       node.add_output("z");
       first_node(m).set_input(0, "z");
     },
     "the graph has a cycle: node of 'y' (Relu) -> node of 'z' (Neg) -> node of 'y' (Relu)"},
    {"no_type", [](auto& m) { m.mutable_graph()->mutable_input(0)->clear_type(); },
     "input 'x': the model does not say its type"},
    {"no_element_type",
     [](auto& m) {
       m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
           99);
     },
     "input 'x': 99 is no ONNX element type"},
    {"no_shape",
     [](auto& m) {
       m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
     },
     "input 'x': the model does not say its shape (give it, as in --shape x=1,3,224,224)"},
    {"huge_input",
     [](auto& m) {
       auto& type = *m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
       for (int i = 0; i < 3; ++i) type.mutable_shape()->add_dim()->set_dim_value(1ll << 31);
     },
     "input 'x': its shape [2, 3, 2147483648, 2147483648, 2147483648] has too many elements"},
    {"large_input",
     [](auto& m) {
       auto& type = *m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
       type.mutable_shape()->add_dim()->set_dim_value(1ll << 50);
     },
     "the input 'x' is too large"},
    {"weight_type", [](auto& m) { add_weight(m, {1}).set_data_type(77); },
     "tensor 'w': 77 is no ONNX element type"},
    {"weight_negative",
     [](auto& m) {
       add_weight(m, {2, -3});
     },
     "tensor 'w': has the impossible dimensions [2, -3]"},
    {"weight_overflow",
     [](auto& m) {
       add_weight(m, {1ll << 40, 1ll << 40});
     },
     "tensor 'w': has the impossible dimensions"},
    {"weight_bytes_overflow", [](auto& m) { add_weight(m, {1ll << 62}); },
     "tensor 'w': is too large: [4611686018427387904]"},
    {"weight_short", [](auto& m) { add_weight(m, {2}).set_raw_data("1234567"); },
     "tensor 'w': has 7 bytes of data, but f32[2] need 8"},
    {"weight_long", [](auto& m) { add_weight(m, {}).set_raw_data("12345"); },
     "tensor 'w': has 5 bytes of data, but f32[] need 4"},
    {"weight_numbers", [](auto& m) { add_weight(m, {3}).add_float_data(1); },
     "tensor 'w': has 1 numbers of data, but f32[3] need 3"},
    {"weight_segment", [](auto& m) { add_weight(m, {1}).mutable_segment()->set_begin(0); },
     "tensor 'w': is stored in segments"},
    {"external_nowhere", [](auto& m) { add_external(m, "offset", "0"); },
     "tensor 'w': is external, but does not say where"},
    {"external_offset", [](auto& m) { add_external(m, "offset", "-4"); },
     "tensor 'w': its external offset is '-4', which is no number"},
    {"external_bytes", [](auto& m) { add_external(m, "location", "w.bin"); },
     "tensor 'w': its data is in the file 'w.bin', whose directory is not known"},
    {"attribute_twice",
     [](auto& m) {
       for (int i = 0; i < 2; ++i) {
         auto& attribute = *first_node(m).add_attribute();
         attribute.set_name("a");
         attribute.set_type(onnx::AttributeProto::INT);
         attribute.set_i(1);
       }
     },
     "node of 'y' (Relu): Attribute 'a' appeared multiple times."},
    {"attribute_unknown",
     [](auto& m) {
       auto& attribute = *first_node(m).add_attribute();
       attribute.set_name("a");
       attribute.set_type(onnx::AttributeProto::INT);
       attribute.set_i(1);
     },
     "node of 'y' (Relu): Unrecognized attribute: a for operator Relu"},
    {"attribute_reference",
     [](auto& m) {
       auto& attribute = *first_node(m).add_attribute();
       attribute.set_name("a");
       attribute.set_ref_attr_name("b");
     },
     "attribute 'a' refers to a function's attribute, outside of a function"},
    {"too_many_inputs", [](auto& m) { first_node(m).add_input("x"); },
     "node of 'y' (Relu): Node with schema(::Relu:14) has input size 2 not in range"},
    {"tensor_in_attribute",
     [](auto& m) {
       auto& node = first_node(m);
       node.set_op_type("Constant");
       node.clear_input();
       auto& attribute = *node.add_attribute();
       attribute.set_name("value");
       attribute.set_type(onnx::AttributeProto::TENSOR);
       attribute.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
       attribute.mutable_t()->add_dims(2);
       attribute.mutable_t()->add_float_data(1);
     },
     "node of 'y' (Constant): tensor '': has 1 numbers of data, but f32[2] need 2"},
    {"recursion", make_function_call_itself, "the function 'f' calls itself"},
};

class BrokenProtoTest : public ::testing::TestWithParam<BrokenProto> {};

TEST_P(BrokenProtoTest, SaysWhatIsWrong) {
  auto model = model_from_text(std::string(kBrokenHead) +
                               "(float[2,3] x) => (float[2,3] y) { y = Relu(x) }");
  GetParam().breaks(model);
  EXPECT_THAT(error_of_bytes(model.SerializeAsString()), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(All, BrokenProtoTest, ::testing::ValuesIn(kBrokenProtos),
                         [](const auto& instance) { return std::string(instance.param.name); });

struct BrokenNode {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const BrokenNode& c, std::ostream* out) { *out << c.name; }

const BrokenNode kBrokenNodes[] = {
    {"attribute_type", "(float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 1.5>(x) }",
     "node of 'y' (Softmax): Mismatched attribute type in ' : axis'"},
    {"shapes", "(float[2,3] x, float[2,3] z) => (float[2,2] y) { y = MatMul(x, z) }",
     "node of 'y' (MatMul): "},
    {"axis", "(float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 7>(x) }",
     "node of 'y' (Softmax): "},
    {"subgraph",
     "(bool c, float[2] x) => (float[2] y) {"
     " y = If(c) <then_branch = t () => (float[2] a) { a = Relu(nothing) },"
     " else_branch = e () => (float[2] b) { b = Neg(x) }> }",
     "node of 'y' (If): reads 'nothing', which nothing produces"},
};

class BrokenNodeTest : public ::testing::TestWithParam<BrokenNode> {};

TEST_P(BrokenNodeTest, SaysWhatIsWrong) {
  EXPECT_THAT(error_of_text(std::string(kBrokenHead) + GetParam().text),
              HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(All, BrokenNodeTest, ::testing::ValuesIn(kBrokenNodes),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(ImportError, BytesThatAreNoModel) {
  EXPECT_EQ(error_of_bytes(""), "is not an ONNX model: it is empty");
  EXPECT_EQ(error_of_bytes("hello, this is text"),
            "is not an ONNX model: it is truncated or of another format");
  EXPECT_THAT(error_of_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:00"),
              HasSubstr("is a pointer of Git LFS, not the model itself (run `git lfs pull`)"));
}

TEST(ImportError, FilesThatCannotBeRead) {
  const TemporaryFolder directory;
  const auto error = [](const std::filesystem::path& path) {
    const auto model = read_onnx(path);
    return model ? "no error" : model.error().to_string();
  };
  EXPECT_EQ(error(directory / "none.onnx"),
            (directory / "none.onnx").string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(error(directory.path()),
            directory.path().string() + ": cannot be read: it is a directory");
  EXPECT_EQ(error("/dev/null"), "/dev/null: cannot be read: it is not a regular file");
  write_file(directory / "empty.onnx", "");
  EXPECT_EQ(error(directory / "empty.onnx"),
            (directory / "empty.onnx").string() + ": is not an ONNX model: it is empty");
  write_file(directory / "bad.onnx",
             bytes_from_text(std::string(kBrokenHead) +
                             "(float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 1.5>(x) }"));
  EXPECT_THAT(error(directory / "bad.onnx"),
              HasSubstr((directory / "bad.onnx").string() + ": node of 'y' (Softmax): "));
}

TEST(ImportError, EveryTruncationIsAnErrorOrAModel) {
  const std::string bytes = bytes_from_text(
      std::string(kBrokenHead) + "(float[1,3,8,8] x) => (float[1,4,6,6] y) "
                                 "<float[4,3,3,3] w, int64[2] s = {4, -1}> { y = Conv(x, w) }");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto model = parse_onnx(std::string_view(bytes).substr(0, size));
    EXPECT_TRUE(model.ok() || !model.error().message.empty());
  }
}

TEST(ImportError, ChangedBytesNeverCrash) {
  const std::string original = bytes_from_text(
      std::string(kBrokenHead) +
      "(float[1,3,8,8] x, bool c) => (float[1,18] y, float[2] z) "
      "<int64[2] s = {1, -1}, float[2] w = {1, 2}> { "
      " a = MaxPool<kernel_shape = [3,3], strides = [2, 2], pads = [0, 0, 1, 1]>(x)"
      " b = Shape(a) d = Gather(b, i) i = Constant<value = int64[1] {1}>() "
      " y = Reshape(a, s) z = If(c) <then_branch = t () => (float[2] p) { p = Neg(w) },"
      " else_branch = e () => (float[2] q) { q = Exp(w) }> }");
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    std::string bytes = original;
    for (std::uint64_t n = 1 + random() % 4; n-- > 0;) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    SCOPED_TRACE(seed);
    const auto model = parse_onnx(bytes, {{}, true});
    if (!model) {
      EXPECT_FALSE(model.error().message.empty());
      continue;
    }
    const auto written = serialize_onnx(model->graph, *model->header);
    EXPECT_TRUE(written.ok()) << written.error().to_string();
  }
}

}  // namespace
}  // namespace soapstone::models
