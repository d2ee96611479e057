// Presents an ONNX node to the mappings in ops/, which know no protobuf.
#include "models/onnx/reading/onnx_reader_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::TensorId;
using ops::OnnxAttribute;

bool is_small(std::int64_t value) {
  return value >= -kLargestParameter && value <= kLargestParameter;
}

/// Slice clamps its ends itself; INT64_MAX there is how exporters write "to the end".
bool may_be_large(const onnx::NodeProto& node) { return node.op_type() == "Slice"; }

class NodeImport final : public ops::OnnxImport {
 public:
  NodeImport(ImportState& state, onnx::NodeProto& node) : state_(state), node_(node) {}

  core::Status read_attributes() {
    for (auto& attribute : *node_.mutable_attribute()) {
      SOAPSTONE_ASSIGN_OR_RETURN(auto value, convert(attribute));
      if (value) attributes_.emplace(attribute.name(), *std::move(value));
    }
    return core::Done{};
  }

  int opset() const override { return state_.opsets.at(node_.domain()); }
  std::string_view op_type() const override { return node_.op_type(); }
  const OnnxAttribute* attribute(std::string_view name) const override {
    const auto found = attributes_.find(name);
    return found == attributes_.end() ? nullptr : &found->second;
  }
  std::size_t input_count() const override { return static_cast<std::size_t>(node_.input_size()); }
  std::size_t output_count() const override {
    return static_cast<std::size_t>(node_.output_size());
  }
  TensorId input(std::size_t k) const override {
    return k < input_count() ? state_.tensor(node_.input(static_cast<int>(k))) : TensorId::none();
  }
  core::LiteralPtr constant_input(std::size_t k) const override;
  const core::TensorType& type(TensorId id) const override {
    return state_.builder.tensor(id).type;
  }
  TensorId constant(core::Literal value) override {
    return state_.builder.add_constant(std::make_shared<const core::Literal>(std::move(value)));
  }
  core::Result<std::vector<TensorId>> append(std::string_view op, std::vector<TensorId> inputs,
                                             core::Attributes attributes) override;

 private:
  core::Result<std::optional<OnnxAttribute>> convert(onnx::AttributeProto& attribute);
  core::Error too_large(std::string_view what) const {
    return core::unsupported(fmt::format("{} is too large to calculate with", what));
  }

  ImportState& state_;
  onnx::NodeProto& node_;
  std::map<std::string, OnnxAttribute, std::less<>> attributes_;
};

core::LiteralPtr NodeImport::constant_input(std::size_t k) const {
  const TensorId id = input(k);
  if (!id.valid()) return nullptr;
  const core::LiteralPtr& value = state_.builder.tensor(id).value;
  constexpr std::int64_t kLongestParameter = 4096;
  if (!value || may_be_large(node_) || value->count() > kLongestParameter) return value;
  const auto ints = value->to_ints();
  return !ints || std::all_of(ints->begin(), ints->end(), is_small) ? value : nullptr;
}

core::Result<std::vector<TensorId>>
NodeImport::append(std::string_view op, std::vector<TensorId> inputs, core::Attributes attributes) {
  auto results =
      ops::append(state_.builder, op, std::move(inputs), std::move(attributes), node_.name());
  if (!results) return results;
  for (TensorId id : *results) {
    if (!is_bearable(type(id))) return too_large("its result");
  }
  if (!results->empty())
    state_.appended.push_back(state_.builder.tensor(results->front()).producer);
  return results;
}

core::Result<std::optional<OnnxAttribute>> NodeImport::convert(onnx::AttributeProto& attribute) {
  using Proto = onnx::AttributeProto;
  switch (attribute.type()) {
  case Proto::INT:
    if (!is_small(attribute.i()) && !may_be_large(node_)) return too_large(attribute.name());
    return std::optional<OnnxAttribute>(std::int64_t{attribute.i()});
  case Proto::FLOAT:
    return std::optional<OnnxAttribute>(attribute.f());
  case Proto::STRING:
    return std::optional<OnnxAttribute>(attribute.s());
  case Proto::INTS: {
    std::vector<std::int64_t> values(attribute.ints().begin(), attribute.ints().end());
    if (!may_be_large(node_) && !std::all_of(values.begin(), values.end(), is_small)) {
      return too_large(attribute.name());
    }
    return std::optional<OnnxAttribute>(std::move(values));
  }
  case Proto::FLOATS:
    return std::optional<OnnxAttribute>(
        std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
  case Proto::TENSOR: {
    if (!fits_literal(attribute.t())) return std::optional<OnnxAttribute>();
    onnx::TensorProto copy = attribute.t();  // the node may have to be kept whole
    SOAPSTONE_ASSIGN_OR_RETURN(auto literal, to_literal(copy, state_.files));
    return std::optional<OnnxAttribute>(std::move(literal));
  }
  default:
    return std::optional<OnnxAttribute>();
  }
}

}  // namespace

ReaderTable::ReaderTable() {
  for (const auto& definition : ops::registry().all()) {
    for (const ops::OnnxReader& reader : definition->onnx.readers) add(reader);
  }
  for (const ops::OnnxReader& reader : ops::composite_readers()) add(reader);
}

void ReaderTable::add(const ops::OnnxReader& reader) {
  readers_[reader.domain + "." + reader.op_type].push_back(reader);
}

const ReaderTable& ReaderTable::get() {
  static const ReaderTable kTable;
  return kTable;
}

const ops::OnnxReader* ReaderTable::find(const std::string& domain, const std::string& op_type,
                                         int opset) const {
  const auto found = readers_.find(domain + "." + op_type);
  if (found == readers_.end()) return nullptr;
  for (const ops::OnnxReader& reader : found->second) {
    if (reader.since_opset <= opset && opset <= reader.until_opset) return &reader;
  }
  return nullptr;
}

core::Result<std::vector<TensorId>> read_with(const ops::OnnxReader& reader, ImportState& state,
                                              onnx::NodeProto& node) {
  NodeImport import(state, node);
  SOAPSTONE_RETURN_IF_ERROR(import.read_attributes());
  auto results = reader.read(import);
  if (results || results.error().code == core::ErrorCode::kUnsupported) return results;
  // Either the file is wrong or our rule is narrower than ONNX; ONNX itself knows.
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string refusal, refusal_of_onnx(state, node));
  if (refusal.empty()) return core::unsupported(results.error().message);
  core::Error error = results.error();
  error.hint = "ONNX's own shape inference says: " + refusal;
  return error;
}

}  // namespace soapstone::models
