// One ONNX node into the graph: checked, then folded if its value is known, then read by the
// operator's own mapping, and kept as it is if all of that is not possible.
#include <fmt/format.h>

#include <algorithm>

#include "models/onnx/nodes/node_import.h"
#include "models/onnx/nodes/reader_table.h"
#include "models/onnx/reading/onnx_import.h"
#include "onnx/defs/schema.h"
#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::TensorId;

const onnx::OpSchema* schema_of(const ImportState& state, const onnx::NodeProto& node) {
  const auto opset = state.opsets.find(node.domain());
  if (opset == state.opsets.end()) return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op_type(), opset->second, node.domain());
}

/// Operators whose changes up to opset 25 gave them element types, and attributes for those types,
/// that we do not have.
bool changed_harmlessly(const std::string& op_type, int version) {
  static constexpr std::string_view kSame[] = {
      "Cast",    "CastLike", "Constant", "ConstantOfShape", "Flatten",   "Identity", "If", "Pad",
      "Reshape", "Shape",    "Size",     "Squeeze",         "Transpose", "Unsqueeze"};
  constexpr int kNewestChange = 25;
  return version <= kNewestChange &&
         std::find(std::begin(kSame), std::end(kSame), op_type) != std::end(kSame);
}

/// ONNX Runtime puts operators into ONNX's own domain that ONNX does not have.
bool is_foreign(const ImportState& state, const onnx::NodeProto& node) {
  return node.domain().empty() &&
         onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain()) == nullptr &&
         ReaderTable::get().find(node.domain(), node.op_type(), state.opsets.at(node.domain()));
}

/// Why the node stays as it is although nothing is wrong with it, or an empty text.
std::string unknown_operator(const ImportState& state, const onnx::NodeProto& node) {
  if (!node.domain().empty() || is_foreign(state, node)) return {};
  const auto* schema = schema_of(state, node);
  if (!schema || schema->Deprecated()) {
    return fmt::format("ONNX has no operator {} in opset {}", node.op_type(),
                       state.opsets.at(node.domain()));
  }
  const int changed = schema->SinceVersion();
  if (changed <= kNewestReviewedOpset || changed_harmlessly(node.op_type(), changed)) return {};
  // A reader that begins with this version was written for it.
  const ops::OnnxReader* const reader =
      ReaderTable::get().find(node.domain(), node.op_type(), state.opsets.at(node.domain()));
  if (reader != nullptr && reader->since_opset >= changed) return {};
  return fmt::format("{} changed in opset {}, which is newer than what is understood",
                     node.op_type(), changed);
}

core::Status check(const ImportState& state, const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) continue;
    return core::invalid_input(
        fmt::format("attribute '{}' refers to a function's attribute, outside of a function",
                    attribute.name()));
  }
  if (is_foreign(state, node)) return core::Done{};  // ONNX's checker knows no such operator.
  try {
    onnx::checker::check_node(node, state.checker, state.scope);
  } catch (const std::exception& error) {
    return core::invalid_input(one_line(error.what()));
  }
  return core::Done{};
}

/// Names the results. `results` may have more than the node lists.
void bind_results(ImportState& state, const onnx::NodeProto& node,
                  const std::vector<TensorId>& results) {
  for (int k = 0; k < node.output_size(); ++k) {
    if (!node.output(k).empty()) state.bind(node.output(k), results[static_cast<std::size_t>(k)]);
  }
}

/// Every result that has a name is there.
bool yields_all(const onnx::NodeProto& node, const std::vector<TensorId>& results) {
  for (int k = 0; k < node.output_size(); ++k) {
    const auto index = static_cast<std::size_t>(k);
    if (node.output(k).empty()) continue;
    if (index >= results.size() || !results[index].valid()) return false;
  }
  return true;
}

/// A Constant without a tensor that we can hold stays a node.
core::Result<core::LiteralPtr> constant_value(ImportState& state, onnx::NodeProto& node) {
  if (node.attribute_size() != 1) return core::LiteralPtr();
  auto& attribute = *node.mutable_attribute(0);
  const auto share = [](core::Literal value) {
    return std::make_shared<const core::Literal>(std::move(value));
  };
  if (attribute.name() == "value" && fits_literal(attribute.t())) {
    return to_literal(*attribute.mutable_t(), state.files);
  }
  if (attribute.name() == "value_float") return share(core::Literal::scalar(attribute.f()));
  if (attribute.name() == "value_int") {
    const std::int64_t value = attribute.i();
    return share(core::Literal::ints({}, std::span(&value, 1)));
  }
  if (attribute.name() == "value_floats") {
    const std::vector<float> values(attribute.floats().begin(), attribute.floats().end());
    return share(core::Literal::floats({attribute.floats_size()}, values));
  }
  if (attribute.name() == "value_ints") {
    const std::vector<std::int64_t> values(attribute.ints().begin(), attribute.ints().end());
    return share(core::Literal::ints({attribute.ints_size()}, values));
  }
  return core::LiteralPtr();
}

std::vector<FoldInput> fold_inputs(const ImportState& state, const onnx::NodeProto& node) {
  std::vector<FoldInput> inputs;
  for (const std::string& name : node.input()) {
    const TensorId id = state.tensor(name);
    if (!id.valid())
      inputs.push_back({false, {}, nullptr});
    else
      inputs.push_back({true, state.builder.tensor(id).type, state.builder.tensor(id).value});
  }
  return inputs;
}

/// Reals become reals, except by these; weights that feed no shape are not for us to fold.
bool may_yield_integers(const onnx::NodeProto& node, const std::vector<FoldInput>& inputs) {
  static constexpr std::string_view kFromReals[] = {
      "Shape", "Size", "Cast", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
  if (std::find(std::begin(kFromReals), std::end(kFromReals), node.op_type()) !=
      std::end(kFromReals)) {
    return true;
  }
  if (node.op_type() == "ConstantOfShape") {  // of any size: not made to find that it is real
    const bool has_value = !node.attribute().empty();
    const auto type = data_type_from_onnx(has_value ? node.attribute(0).t().data_type() : 0);
    return type && !core::is_floating(*type);
  }
  return std::none_of(inputs.begin(), inputs.end(), [](const FoldInput& input) {
    return input.present && core::is_floating(input.type.data_type);
  });
}

/// A small file could ask for large constants many times over.
bool within_budget(ImportState& state, const std::vector<core::LiteralPtr>& values) {
  constexpr std::int64_t kMostInTotal = 1 << 26, kAlwaysFolded = 4096;
  std::int64_t count = 0;
  for (const core::LiteralPtr& value : values) count += value->count();
  if (count > kAlwaysFolded && state.folded_elements + count > kMostInTotal) return false;
  state.folded_elements += count;
  return true;
}

/// Many nodes could read one large constant each, for a small result. A result of many inputs may
/// be computed from all of them for each element.
bool within_work(ImportState& state, const std::vector<FoldInput>& inputs) {
  constexpr std::int64_t kMostInTotal = std::int64_t{1} << 29, kAlwaysRead = 4096;
  std::int64_t count = 0;
  for (const FoldInput& input : inputs)
    if (input.value) count += input.value->count();
  count *= std::ssize(inputs);
  if (count <= kAlwaysRead) return true;
  return (state.elements_read += count) <= kMostInTotal;
}

/// Keeps the node, which is folded, for a file that has to compute its results.
void record_folded(ImportState& state, const onnx::NodeProto& node,
                   const std::vector<core::LiteralPtr>& values) {
  if (!state.folded) return;
  FoldedNode folded{node, {}, {}};
  for (const std::string& name : node.input()) {
    const TensorId id = state.tensor(name);
    const bool is_made = state.folded->producer(name) != nullptr;
    folded.constants.push_back(id.valid() && !is_made ? state.builder.tensor(id).value : nullptr);
  }
  for (const core::LiteralPtr& value : values)
    folded.results.push_back(
        {value->hash(), value->count() <= KnownTensor::kMostKept ? value : nullptr});
  state.folded->add(std::move(folded));
}

/// True: the node is done.
core::Result<bool> import_folded(ImportState& state, const onnx::NodeProto& node, bool reals_too) {
  if (!has_fold(node)) return false;
  const auto inputs = fold_inputs(state, node);
  if (!reals_too && !may_yield_integers(node, inputs)) return false;
  if (!within_work(state, inputs)) return false;
  const auto values = fold(node, state.opsets.at(node.domain()), inputs, state.files);
  if (!values) return false;
  const bool has_reals = std::any_of(values->begin(), values->end(), [](const auto& value) {
    return core::is_floating(value->data_type());
  });
  if ((has_reals && !reals_too) || !within_budget(state, *values)) return false;
  record_folded(state, node, *values);
  std::vector<TensorId> results;
  for (const core::LiteralPtr& value : *values)
    results.push_back(state.builder.add_constant(value));
  bind_results(state, node, results);
  return true;
}

/// Why no reader may see the node, or an empty text.
std::string unreadable_input(const ImportState& state, const onnx::NodeProto& node) {
  for (const std::string& name : node.input()) {
    if (name.empty()) continue;
    const core::TensorType& type = state.builder.tensor(state.tensor(name)).type;
    if (core::size_bytes(type.data_type) == 0) {
      return fmt::format("the elements of '{}' are not numbers that are understood", name);
    }
    if (!type.shape_known) return fmt::format("the shape of '{}' is not known", name);
  }
  return {};
}

/// Keeps the node as it is, with what became of it.
void record(ImportState& state, const onnx::NodeProto& node, const std::vector<TensorId>& results,
            const std::vector<core::NodeId>& appended) {
  if (appended.empty()) return;  // it passes on what it reads
  OriginalNode original;
  original.proto = node;
  for (const std::string& name : node.input()) {
    const TensorId id = state.tensor(name);
    original.inputs.push_back(id);
    original.values.push_back(id.valid() ? state.builder.tensor(id).value : nullptr);
  }
  for (int k = 0; k < node.output_size(); ++k) {
    const bool named = !node.output(k).empty();
    original.results.push_back(named ? results[static_cast<std::size_t>(k)] : TensorId::none());
  }
  original.nodes = appended;
  std::sort(original.nodes.begin(), original.nodes.end());
  state.originals.push_back(std::move(original));
}

/// Lets `reader` append what the node means.
/// Errors: kInvalidInput if the node breaks the ONNX standard; kUnsupported if it does not, but
/// the reader cannot take it.
core::Result<std::vector<TensorId>> read_with(const ops::OnnxReader& reader, ImportState& state,
                                              const onnx::NodeProto& node, NodeImport& import) {
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

std::vector<TensorId> input_tensors(const ImportState& state, const onnx::NodeProto& node) {
  std::vector<TensorId> inputs;
  for (const std::string& name : node.input()) inputs.push_back(state.tensor(name));
  return inputs;
}

}  // namespace

core::Status import_node(ImportState& state, onnx::NodeProto& node, bool feeds_shapes) {
  if (node.op_type().empty()) return core::invalid_input("names no operator");
  if (std::string why = unknown_operator(state, node); !why.empty()) {
    return import_opaque(state, node, std::move(why));
  }
  SOAPSTONE_RETURN_IF_ERROR(check(state, node));
  if (node.domain().empty() && node.op_type() == "Constant") {
    SOAPSTONE_ASSIGN_OR_RETURN(auto value, constant_value(state, node));
    if (!value) return import_opaque(state, node, "elements of this type are not understood");
    bind_results(state, node, {state.builder.add_constant(std::move(value))});
    return core::Done{};
  }
  const ops::OnnxReader* reader =
      ReaderTable::get().find(node.domain(), node.op_type(), state.opsets.at(node.domain()));
  SOAPSTONE_ASSIGN_OR_RETURN(const bool folded,
                             import_folded(state, node, feeds_shapes || !reader));
  if (folded) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(const bool branched, import_taken_branch(state, node));
  if (branched) return core::Done{};
  if (!reader) return import_opaque(state, node, "no rule reads this operator");
  if (std::string why = unreadable_input(state, node); !why.empty()) {
    return import_opaque(state, node, std::move(why));
  }
  NodeImport import(node, state.opsets.at(node.domain()), state.builder, input_tensors(state, node),
                    state.files);
  const auto results = read_with(*reader, state, node, import);
  if (!results && results.error().code == core::ErrorCode::kUnsupported) {
    return import_opaque(state, node, results.error().message);
  }
  if (!results) return results.error();
  if (!yields_all(node, *results)) {
    return import_opaque(state, node, "one of its results has no equivalent");
  }
  record(state, node, *results, import.appended());
  bind_results(state, node, *results);
  return core::Done{};
}

}  // namespace soapstone::models
