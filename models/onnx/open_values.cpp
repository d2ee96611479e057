#include "models/onnx/open_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/onnx/format/onnx_types.h"
#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {

using core::Dims;
using core::LiteralPtr;

SizedFile::SizedFile(const ExportedModel& exported)
    : graph(exported.model.graph()), folded(exported.folded) {
  for (const NamedWeight& weight : exported.weights) {
    weights.emplace(weight.name, weight.value);
    shapes[weight.name] = weight.value->dims();
  }
  for (const auto* values : {&graph.input(), &graph.value_info(), &graph.output()})
    for (const auto& value : *values) note(value);
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
    for (std::string& name : subgraph_names(node)) names.insert(std::move(name));
  }
}

LiteralPtr SizedFile::weight(const std::string& name) const {
  const auto found = weights.find(name);
  return found == weights.end() ? nullptr : found->second;
}

bool SizedFile::is_taken(const std::string& name) const {
  return weights.contains(name) || names.contains(name);
}

void SizedFile::note(const onnx::ValueInfoProto& value) {
  if (!value.type().tensor_type().has_shape()) return;
  Dims dims;
  for (const auto& dimension : value.type().tensor_type().shape().dim())
    dims.push_back(dimension.dim_value());
  shapes[value.name()] = std::move(dims);
}

bool is_same_everywhere(const SizedNumber& number) {
  return std::ranges::all_of(number, [&](std::int64_t value) { return value == number[0]; });
}

OpenValues::OpenValues(std::span<const SizedFile> files, ExportedModel& file)
    : files_(files), file_(file) {
  for (const auto& input : files[0].graph.input()) note_sizes(input.name());
}

void OpenValues::note_sizes(const std::string& input) {
  const auto shape = files_[0].shapes.find(input);
  if (shape == files_[0].shapes.end()) return;
  for (std::size_t d = 0; d < shape->second.size(); ++d) {
    SizedNumber number;
    for (const SizedFile& file : files_) {
      const auto there = file.shapes.find(input);
      if (there == file.shapes.end() || there->second.size() != shape->second.size()) return;
      number.push_back(there->second[d]);
    }
    if (!is_same_everywhere(number)) sizes_.push_back({input, d, std::move(number), {}});
  }
}

std::optional<SizeFormula> OpenValues::formula_of(const SizedNumber& number) const {
  if (is_same_everywhere(number)) return SizeFormula{{}, {}, 1, number[0]};
  const auto factor_of = [&](const SizedNumber& of) -> std::optional<std::int64_t> {
    if (of[0] == 0 || number[0] % of[0] != 0) return std::nullopt;
    const std::int64_t factor = number[0] / of[0];
    for (std::size_t f = 0; f < of.size(); ++f)
      if (number[f] != factor * of[f]) return std::nullopt;
    return factor;
  };
  for (std::size_t s = 0; s < sizes_.size(); ++s)
    if (const auto factor = factor_of(sizes_[s].number)) return SizeFormula{s, {}, *factor, 0};
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    const std::int64_t offset = number[0] - sizes_[s].number[0];
    bool fits = true;
    for (std::size_t f = 0; f < number.size(); ++f)
      fits = fits && number[f] == sizes_[s].number[f] + offset;
    if (fits) return SizeFormula{s, {}, 1, offset};
  }
  for (std::size_t a = 0; a < sizes_.size(); ++a) {
    for (std::size_t b = a + 1; b < sizes_.size(); ++b) {
      SizedNumber product = sizes_[a].number;
      for (std::size_t f = 0; f < product.size(); ++f) product[f] *= sizes_[b].number[f];
      if (const auto factor = factor_of(product)) return SizeFormula{a, b, *factor, 0};
    }
  }
  return std::nullopt;
}

std::string OpenValues::computed(const std::vector<SizeFormula>& formulas,
                                 const core::Literal& like) {
  SizedNumber plain;
  std::string key = fmt::format("{} {} ", core::to_string(like.data_type()), like.dims().size());
  for (const SizeFormula& f : formulas) {
    if (!f.first) plain.push_back(f.offset);
    key += fmt::format("{},{},{},{};", f.first.value_or(SIZE_MAX), f.second.value_or(SIZE_MAX),
                       f.factor, f.offset);
  }
  std::string& name = written_[key];
  if (!name.empty()) return name;
  std::string all;
  if (plain.size() == formulas.size()) {
    all = constant({static_cast<std::int64_t>(plain.size())}, plain);
  } else {
    std::vector<std::string> parts;
    for (const SizeFormula& formula : formulas) parts.push_back(element(formula));
    all = parts.size() == 1 ? parts[0] : added("Concat", parts, "axis", 0);
  }
  if (like.dims().empty()) all = added("Reshape", {all, constant({0}, {})});
  if (like.data_type() != core::DataType::kInt64)
    all = added("Cast", {all}, "to", data_type_to_onnx(like.data_type()));
  return name = all;
}

std::optional<std::string> OpenValues::computed_again(std::span<const LiteralPtr> values) {
  if (!files_[0].folded) return std::nullopt;
  for (const std::string& name : files_[0].folded->with_hash(values[0]->hash())) {
    bool is_it = true;
    for (std::size_t f = 1; f < files_.size(); ++f) {
      const KnownTensor* there = files_[f].folded ? files_[f].folded->result(name) : nullptr;
      is_it = is_it && there != nullptr && there->hash == values[f]->hash();
    }
    if (!is_it) continue;
    if (auto again = result_again(name)) return again;
  }
  return std::nullopt;
}

/// The model's node that makes the tensor, if it is the same at all sizes.
const FoldedNode* OpenValues::producer_everywhere(const std::string& name) const {
  const FoldedNode* node = files_[0].folded->producer(name);
  if (node == nullptr) return nullptr;
  const std::string proto = node->proto.SerializeAsString();
  for (const SizedFile& file : files_) {
    const FoldedNode* there = file.folded ? file.folded->producer(name) : nullptr;
    if (there == nullptr || there->proto.SerializeAsString() != proto) return nullptr;
    for (std::size_t k = 0; k < node->constants.size(); ++k) {
      const LiteralPtr &own = node->constants[k], &other = there->constants[k];
      if (own ? !other || own->hash() != other->hash() : other != nullptr) return nullptr;
    }
  }
  return node;
}

/// The tensor that the original computes under that name.
std::optional<std::string> OpenValues::result_again(const std::string& name) {
  if (const auto known = again_.find(name); known != again_.end()) return known->second;
  const FoldedNode* node = producer_everywhere(name);
  if (node == nullptr || depth_ == kMostDepth) return as_sizes(name);
  std::vector<std::string> operands;
  ++depth_;
  for (int k = 0; k < node->proto.input_size(); ++k) {
    const auto operand = operand_again(*node, k);
    if (!operand) break;
    operands.push_back(*operand);
  }
  --depth_;
  if (std::ssize(operands) < node->proto.input_size()) return again_[name] = as_sizes(name);
  onnx::NodeProto copy = node->proto;
  copy.clear_name();
  for (int k = 0; k < copy.input_size(); ++k)
    copy.set_input(k, operands[static_cast<std::size_t>(k)]);
  for (int k = 0; k < copy.output_size(); ++k) {
    if (copy.output(k).empty()) continue;
    const std::string made = fresh();
    again_[copy.output(k)] = made;
    copy.set_output(k, made);
  }
  new_nodes_.push_back(std::move(copy));
  return again_.at(name);
}

/// Computes the tensor of that name by formulas, if it is a list of sizes.
std::optional<std::string> OpenValues::as_sizes(const std::string& name) {
  std::vector<SizedNumber> elements;
  LiteralPtr first;
  for (const SizedFile& file : files_) {
    const KnownTensor* known = file.folded ? file.folded->result(name) : nullptr;
    if (known == nullptr || !known->value || known->value->dims().size() > 1) return std::nullopt;
    const auto ints = known->value->to_ints();
    if (!ints || known->value->data_type() == core::DataType::kBool) return std::nullopt;
    if (!first) {
      first = known->value;
      elements.resize(ints->size());
    }
    if (known->value->dims() != first->dims()) return std::nullopt;
    for (std::size_t e = 0; e < ints->size(); ++e) elements[e].push_back((*ints)[e]);
  }
  std::vector<SizeFormula> formulas;
  for (const SizedNumber& number : elements) {
    const auto formula = formula_of(number);
    if (!formula) return std::nullopt;
    formulas.push_back(*formula);
  }
  return computed(formulas, *first);
}

std::optional<std::string> OpenValues::operand_again(const FoldedNode& node, int k) {
  const std::string& name = node.proto.input(k);
  if (name.empty()) return "";
  if (const LiteralPtr& constant = node.constants[static_cast<std::size_t>(k)])
    return weight(constant);
  const auto& inputs = files_[0].graph.input();
  const bool is_input =
      std::ranges::any_of(inputs, [&](const auto& input) { return input.name() == name; });
  return is_input ? name : result_again(name);
}

std::string OpenValues::element(const SizeFormula& formula) {
  if (!formula.first) return constant({1}, {formula.offset});
  std::string value = size(*formula.first);
  if (formula.second) value = added("Mul", {value, size(*formula.second)});
  if (formula.factor != 1) value = added("Mul", {value, constant({1}, {formula.factor})});
  if (formula.offset != 0) value = added("Add", {value, constant({1}, {formula.offset})});
  return value;
}

std::string OpenValues::size(std::size_t number) {
  InputSize& its = sizes_[number];
  if (!its.name.empty()) return its.name;
  const auto place = constant({1}, {static_cast<std::int64_t>(its.dimension)});
  return its.name = added("Gather", {added("Shape", {its.input}), place}, "axis", 0);
}

std::string OpenValues::constant(Dims dims, const SizedNumber& values) {
  return weight(
      std::make_shared<const core::Literal>(core::Literal::ints(std::move(dims), values)));
}

std::string OpenValues::weight(LiteralPtr value) {
  const auto known = std::ranges::find_if(file_.weights, [&](const NamedWeight& weight) {
    return weight.value == value ||
           (weight.value->hash() == value->hash() && *weight.value == *value);
  });
  if (known != file_.weights.end()) return known->name;
  file_.weights.push_back({std::move(value), fresh()});
  return file_.weights.back().name;
}

std::string OpenValues::added(const char* op, const std::vector<std::string>& inputs,
                              const char* attribute, std::int64_t number) {
  onnx::NodeProto& made = new_nodes_.emplace_back();
  made.set_op_type(op);
  for (const std::string& input : inputs) made.add_input(input);
  made.add_output(fresh());
  if (attribute != nullptr) {
    onnx::AttributeProto& value = *made.add_attribute();
    value.set_name(attribute);
    value.set_type(onnx::AttributeProto::INT);
    value.set_i(number);
  }
  return made.output(0);
}

std::string OpenValues::fresh() {
  std::string name;
  do name = fmt::format("open_size_{}", next_++);
  while (files_[0].is_taken(name));
  return name;
}

void OpenValues::put_new_nodes_first() {
  onnx::GraphProto& graph = *file_.model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> old;
  old.Swap(graph.mutable_node());
  for (onnx::NodeProto& made : new_nodes_) *graph.add_node() = std::move(made);
  for (onnx::NodeProto& kept : old) *graph.add_node() = std::move(kept);
}

}  // namespace soapstone::models
