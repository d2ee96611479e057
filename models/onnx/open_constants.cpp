// See open_constants.h. Files are compared node by node; names within them may differ.
#include "models/onnx/open_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/onnx/open_values.h"

namespace soapstone::models {
namespace {

using core::LiteralPtr;
using Formula = SizeFormula;
using Values = SizedNumber;

core::Error differ(const onnx::NodeProto& node, std::string_view what) {
  return core::unsupported(fmt::format("{} '{}' has {} at other sizes", node.op_type(),
                                       node.name().empty() ? node.output(0) : node.name(), what));
}

/// What is left of a node without its names.
std::string structure(onnx::NodeProto node) {
  node.clear_name();
  node.clear_doc_string();
  node.clear_metadata_props();
  for (auto* names : {node.mutable_input(), node.mutable_output()})
    for (std::string& name : *names) name = name.empty() ? "" : "x";
  return node.SerializeAsString();
}

class OpenFile {
 public:
  explicit OpenFile(std::span<const ExportedModel> exported)
      : result_(exported[0]), files_(exported.begin(), exported.end()), names_(exported.size()),
        values_(files_, result_) {}

  core::Result<ExportedModel> run() {
    const int count = files_[0].graph.node_size();
    for (const SizedFile& file : files_)
      if (file.graph.node_size() != count)
        return core::unsupported("other operators are left at other sizes");
    for (int k = 0; k < count; ++k) SOAPSTONE_RETURN_IF_ERROR(compare(k));
    values_.put_new_nodes_first();
    drop_unread(*result_.model.mutable_graph(), result_.weights);
    return std::move(result_);
  }

 private:
  const onnx::NodeProto& node(std::size_t file, int k) const { return files_[file].graph.node(k); }

  core::Status compare(int k) {
    const onnx::NodeProto& own = node(0, k);
    for (std::size_t f = 1; f < files_.size(); ++f) {
      if (structure(own) != structure(node(f, k))) return differ(own, "other attributes");
      for (int j = 0; j < own.output_size(); ++j)
        names_[f].emplace(node(f, k).output(j), own.output(j));
    }
    for (int j = 0; j < own.input_size(); ++j) SOAPSTONE_RETURN_IF_ERROR(compare_operand(k, j));
    return core::Done{};
  }

  core::Status compare_operand(int k, int j) {
    const onnx::NodeProto& own = node(0, k);
    std::vector<LiteralPtr> values{files_[0].weight(own.input(j))};
    for (std::size_t f = 1; f < files_.size(); ++f) {
      const std::string& name = node(f, k).input(j);
      values.push_back(files_[f].weight(name));
      if ((values[f] != nullptr) != (values[0] != nullptr)) return differ(own, "other operands");
      const auto known = names_[f].find(name);
      const std::string& there = known != names_[f].end() ? known->second : name;
      if (!values[0] && there != own.input(j)) return differ(own, "other operands");
    }
    const auto is_same = [&](const LiteralPtr& value) {
      return value == values[0] || *value == *values[0];
    };
    if (!values[0] || std::ranges::all_of(values, is_same)) return core::Done{};
    return open(k, j, values);
  }

  core::Status open(int k, int j, const std::vector<LiteralPtr>& values) {
    const bool are_sizes = std::ranges::all_of(values, [&](const LiteralPtr& value) {
      return value->dims() == values[0]->dims() && value->dims().size() <= 1 &&
             value->data_type() != core::DataType::kBool && value->count() <= kMostElements &&
             value->to_ints();
    });
    if (!are_sizes || !is_reshape(node(0, k), j)) {
      if (const auto again = values_.computed_again(values)) {
        set_operand(k, j, *again);
        return core::Done{};
      }
    }
    return are_sizes ? open_sizes(k, j, values) : open_tensor(k, j, values);
  }

  void set_operand(int k, int j, const std::string& name) {
    result_.model.mutable_graph()->mutable_node(k)->set_input(j, name);
  }

  /// A tensor of sizes of its own: one element everywhere, or numbers that count its last
  /// dimension.
  core::Status open_tensor(int k, int j, const std::vector<LiteralPtr>& values) {
    const core::Literal& first = *values[0];
    const auto agrees = [&](bool (*is_such)(const core::Literal&)) {
      return std::ranges::all_of(values, [&](const LiteralPtr& value) {
        return value->dims().size() == first.dims().size() &&
               value->data_type() == first.data_type() && is_such(*value) &&
               (is_such == &counts || element_of(*value) == element_of(first));
      });
    };
    const bool filled = agrees(&is_filled);
    const auto shape = shape_of(values);
    if ((!filled && !agrees(&counts)) || !shape || default_opset(result_.model) < kOpsetOfRange)
      return differ(node(0, k), "other constants");
    const std::string wanted = values_.computed(*shape, sizes_literal(shape->size()));
    std::string from;
    if (filled)
      from = values_.weight(std::make_shared<const core::Literal>(
          core::Literal::copy(first.data_type(), {}, element_of(first))));
    else
      from = values_.added("Range",
                           {values_.scalar(0),
                            values_.computed({shape->back()}, core::Literal::ints({}, Values{0})),
                            values_.scalar(1)});
    set_operand(k, j, values_.added("Expand", {from, wanted}));
    return core::Done{};
  }

  std::optional<std::vector<Formula>> shape_of(const std::vector<LiteralPtr>& values) const {
    std::vector<Formula> shape;
    for (std::size_t d = 0; d < values[0]->dims().size(); ++d) {
      Values sizes;
      for (const LiteralPtr& value : values) {
        if (d >= value->dims().size()) return std::nullopt;
        sizes.push_back(value->dims()[d]);
      }
      const auto formula = values_.formula_of(sizes);
      if (!formula) return std::nullopt;
      shape.push_back(*formula);
    }
    return shape;
  }

  static core::Literal sizes_literal(std::size_t count) {
    return core::Literal::ints({static_cast<std::int64_t>(count)}, Values(count));
  }

  static std::vector<std::byte> element_of(const core::Literal& literal) {
    const auto bytes = literal.bytes().first(core::size_bytes(literal.data_type()));
    return {bytes.begin(), bytes.end()};
  }

  static bool is_filled(const core::Literal& literal) {
    const std::size_t size = core::size_bytes(literal.data_type());
    const auto bytes = literal.bytes();
    return size > 0 && bytes.size() >= size &&
           std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(),
                      bytes.begin());
  }

  static bool counts(const core::Literal& literal) {
    if (literal.data_type() != core::DataType::kInt64 || literal.dims().empty()) return false;
    const auto numbers = literal.as<std::int64_t>();
    for (std::size_t e = 0; e < numbers.size(); ++e)
      if (numbers[e] != static_cast<std::int64_t>(e) % literal.dims().back()) return false;
    return !numbers.empty();
  }

  /// Lists of sizes, or one size.
  core::Status open_sizes(int k, int j, const std::vector<LiteralPtr>& values) {
    const onnx::NodeProto& own = node(0, k);
    std::vector<Values> elements(static_cast<std::size_t>(values[0]->count()));
    for (const LiteralPtr& value : values) {
      const std::vector<std::int64_t> ints = value->to_ints().value();
      for (std::size_t e = 0; e < elements.size(); ++e) elements[e].push_back(ints[e]);
    }
    const bool may_be_inferred = is_reshape(own, j);
    if (may_be_inferred) let_reshape_infer(k, elements);
    std::vector<Formula> formulas;
    std::optional<std::size_t> inferred;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      const auto formula = values_.formula_of(elements[e]);
      const bool may_infer = may_be_inferred && !inferred && !has(elements, -1);
      if (!formula && !may_infer) return differ(own, "sizes that do not follow from its inputs'");
      if (!formula) inferred = e;
      formulas.push_back(formula.value_or(Formula{{}, {}, 1, -1}));
    }
    set_operand(k, j, values_.computed(formulas, *values[0]));
    return core::Done{};
  }

  /// Operand j is the shape of a Reshape that copies and infers sizes.
  static bool is_reshape(const onnx::NodeProto& node, int j) {
    return node.domain().empty() && node.op_type() == "Reshape" && j == 1 &&
           node.attribute_size() == 0;
  }

  static bool has(const std::vector<Values>& elements, std::int64_t number) {
    return std::ranges::any_of(elements, [&](const Values& v) { return v[0] == number; });
  }

  /// 0 copies the size of the operand, -1 is what is left.
  void let_reshape_infer(int k, std::vector<Values>& elements) const {
    if (has(elements, 0) || has(elements, -1)) return;
    std::vector<std::size_t> open;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      if (is_same_everywhere(elements[e])) continue;
      if (is_size_of_operand(k, e, elements[e]))
        elements[e].assign(files_.size(), 0);
      else
        open.push_back(e);
    }
    if (open.size() == 1) elements[open[0]].assign(files_.size(), -1);
  }

  bool is_size_of_operand(int k, std::size_t dimension, const Values& values) const {
    for (std::size_t f = 0; f < files_.size(); ++f) {
      const auto shape = files_[f].shapes.find(node(f, k).input(0));
      if (shape == files_[f].shapes.end() || dimension >= shape->second.size() ||
          shape->second[dimension] != values[f])
        return false;
    }
    return true;
  }

  static constexpr std::int64_t kMostElements = 64;
  static constexpr int kOpsetOfRange = 11;

  ExportedModel result_;
  std::vector<SizedFile> files_;
  std::vector<std::unordered_map<std::string, std::string>> names_;  // by file: ours, by theirs
  OpenValues values_;
};

}  // namespace

core::Result<ExportedModel> with_open_constants(std::span<const ExportedModel> files) {
  return OpenFile(files).run();
}

}  // namespace soapstone::models
