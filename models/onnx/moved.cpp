// See moved.h. Works on the document alone, so a mistake in reading operators has no part
// in it.
#include "models/onnx/moved.h"

#include <cstring>
#include <random>

#include "models/onnx/writing/document_weights.h"

namespace soapstone::models {
namespace {

/// A unit in the last place of f32, next to one.
constexpr float kUnit = 0x1p-23F;
/// Of what a result with noise was before.
constexpr const char* kExactSuffix = ".soapstone.exact";

/// Sizes and exponents of floating types; neighbors in magnitude are neighbors as integers.
struct FloatBits {
  std::size_t size_bytes = 0;
  std::uint64_t infinity = 0;  ///< Its bits. 0: not a floating type.
};

FloatBits bits_of(core::DataType type) {
  switch (type) {
  case core::DataType::kFloat64:
    return {8, 0x7ffULL << 52};
  case core::DataType::kFloat32:
    return {4, 0xffULL << 23};
  case core::DataType::kBFloat16:
    return {2, 0xffULL << 7};
  case core::DataType::kFloat16:
    return {2, 0x1fULL << 10};
  default:
    return {};
  }
}

/// `step`: -1, 0 or 1 in magnitude. No number becomes a zero or an infinity.
std::uint64_t neighbor(std::uint64_t number, int step, std::uint64_t infinity) {
  const std::uint64_t magnitude = number & (infinity | (infinity - 1));
  if (magnitude == 0 || magnitude >= infinity) return number;
  if (step > 0) return magnitude + 1 < infinity ? number + 1 : number;
  return step < 0 && magnitude > 1 ? number - 1 : number;
}

core::LiteralPtr moved(const core::Literal& weight, const FloatBits& bits,
                       std::mt19937_64& random) {
  std::vector<std::byte> bytes(weight.bytes().begin(), weight.bytes().end());
  for (std::size_t at = 0; at < bytes.size(); at += bits.size_bytes) {
    std::uint64_t number = 0;  // little-endian, as in the file
    std::memcpy(&number, &bytes[at], bits.size_bytes);
    number = neighbor(number, static_cast<int>(random() % 3) - 1, bits.infinity);
    std::memcpy(&bytes[at], &number, bits.size_bytes);
  }
  return std::make_shared<const core::Literal>(
      core::Literal::copy(weight.data_type(), weight.dims(), bytes));
}

/// Appends nodes that multiply results by factors near one. A generator of random numbers would be
/// fewer nodes, but runtimes do not have it for every opset. A sine of the place, many times as
/// large, leaves digits that are as good as random.
class Noise {
 public:
  Noise(ExportedModel& document, std::uint64_t seed)
      : graph_(*document.model.mutable_graph()), weights_(document.weights), random_(seed) {}

  /// After the node that computes `exact`: `result` becomes what is off.
  void append(const std::string& exact, const std::string& result) {
    const std::string flat = node("Reshape", {exact, all_});
    const std::string count = node("Squeeze", {node("Shape", {flat})});
    const std::string places = node("Cast", {node("Range", {zero_, count, one_})});
    const std::string speed = real(12 + 1e-3F * static_cast<float>(random_() % 1000));
    const std::string sine = node("Sin", {node("Mul", {places, speed})});
    const std::string large = node("Mul", {sine, large_});
    const std::string digits = node("Sub", {large, node("Floor", {large})});
    const std::string factors = node("Add", {node("Mul", {digits, range_}), least_});
    // The smallest numbers have no neighbors that near. Zeros stay, which steps part from others.
    const std::string step = node("Mul", {node("Mul", {digits, smallest_}), node("Sign", {flat})});
    const std::string noisy = node("Add", {node("Mul", {flat, factors}), step});
    node("Reshape", {noisy, node("Shape", {exact})}, result);
  }

 private:
  std::string new_name() { return "soapstone.noise." + std::to_string(names_++); }

  std::string node(const char* op, std::initializer_list<std::string> inputs,
                   std::string output = {}) {
    if (output.empty()) output = new_name();
    onnx::NodeProto& made = *graph_.add_node();
    made.set_op_type(op);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    if (made.op_type() == "Cast") {
      onnx::AttributeProto& to = *made.add_attribute();
      to.set_name("to");
      to.set_type(onnx::AttributeProto::INT);
      to.set_i(onnx::TensorProto::FLOAT);
    }
    return output;
  }

  std::string constant(core::Literal value) {
    weights_.push_back({std::make_shared<const core::Literal>(std::move(value)), new_name()});
    return weights_.back().name;
  }
  std::string integer(core::Dims dims, std::int64_t value) {
    return constant(core::Literal::ints(std::move(dims), std::span(&value, 1)));
  }
  std::string real(float value) { return constant(core::Literal::scalar(value)); }

  onnx::GraphProto& graph_;
  std::vector<NamedWeight>& weights_;
  std::mt19937_64 random_;
  std::size_t names_ = 0;
  const std::string zero_ = integer({}, 0), one_ = integer({}, 1), all_ = integer({1}, -1),
                    large_ = real(43758.5453F), range_ = real(2 * kUnit), least_ = real(1 - kUnit),
                    smallest_ = real(0x1p-148F);
};

void add_noise(ExportedModel& document, const std::set<std::string>& noisy, std::uint64_t seed) {
  if (noisy.empty()) return;
  Noise noise(document, seed);
  onnx::GraphProto& graph = *document.model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (onnx::NodeProto& node : nodes) {
    std::vector<std::string> results;
    for (std::string& output : *node.mutable_output()) {
      if (!noisy.contains(output)) continue;
      results.push_back(output);
      output += kExactSuffix;
    }
    *graph.add_node() = std::move(node);
    for (const std::string& result : results) noise.append(result + kExactSuffix, result);
  }
}

}  // namespace

core::Status write_moved(const std::filesystem::path& model, const std::filesystem::path& path,
                         std::uint64_t seed, const std::set<std::string>& noisy) {
  SOAPSTONE_ASSIGN_OR_RETURN(ExportedModel document, read_document(model));
  std::mt19937_64 random(seed);
  for (auto& [weight, name] : document.weights) {
    const FloatBits bits = bits_of(weight->data_type());
    if (bits.infinity != 0 && weight->dims().size() >= 2) weight = moved(*weight, bits, random);
  }
  add_noise(document, noisy, seed);
  return write_document(std::move(document), path);
}

}  // namespace soapstone::models
