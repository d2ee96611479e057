// See open_constants.h. Files are compared node by node; names within them may differ.
#include "models/onnx/open_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "models/onnx/format/onnx_types.h"
#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {
namespace {

using core::Dims;
using core::LiteralPtr;

/// One number of the first file, and what it is in the others.
using Values = std::vector<std::int64_t>;

/// A size as the file computes it: factor * first * second + offset.
struct Formula {
  std::optional<std::size_t> first, second;  ///< Sizes of inputs.
  std::int64_t factor = 1, offset = 0;
};

bool is_same_everywhere(const Values& values) {
  return std::ranges::all_of(values, [&](std::int64_t value) { return value == values[0]; });
}

struct File {
  explicit File(const ExportedModel& exported) : graph(exported.model.graph()) {
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

  LiteralPtr weight(const std::string& name) const {
    const auto found = weights.find(name);
    return found == weights.end() ? nullptr : found->second;
  }

  bool is_taken(const std::string& name) const {
    return weights.contains(name) || names.contains(name);
  }

  const onnx::GraphProto& graph;
  std::unordered_set<std::string> names;  ///< Of inputs and results, subgraphs included.
  std::unordered_map<std::string, LiteralPtr> weights;
  std::unordered_map<std::string, Dims> shapes;  ///< Where they are known.

 private:
  void note(const onnx::ValueInfoProto& value) {
    if (!value.type().tensor_type().has_shape()) return;
    Dims dims;
    for (const auto& dimension : value.type().tensor_type().shape().dim())
      dims.push_back(dimension.dim_value());
    shapes[value.name()] = std::move(dims);
  }
};

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
      : result_(exported[0]), names_(exported.size()) {
    for (const ExportedModel& file : exported) files_.emplace_back(file);
    for (int k = 0; k < files_[0].graph.input_size(); ++k) note_sizes(k);
  }

  core::Result<ExportedModel> run() {
    const int count = files_[0].graph.node_size();
    for (const File& file : files_)
      if (file.graph.node_size() != count)
        return core::unsupported("other operators are left at other sizes");
    for (int k = 0; k < count; ++k) SOAPSTONE_RETURN_IF_ERROR(compare(k));
    put_new_nodes_first();
    return std::move(result_);
  }

 private:
  void note_sizes(int input) {
    const std::string& name = files_[0].graph.input(input).name();
    const auto shape = files_[0].shapes.find(name);
    if (shape == files_[0].shapes.end()) return;
    for (std::size_t d = 0; d < shape->second.size(); ++d) {
      Values values;
      for (const File& file : files_) {
        const auto there = file.shapes.find(name);
        if (there == file.shapes.end() || there->second.size() != shape->second.size()) return;
        values.push_back(there->second[d]);
      }
      if (!is_same_everywhere(values)) sizes_.push_back({name, d, std::move(values), {}});
    }
  }

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
             value->count() <= kMostElements && value->to_ints();
    });
    return are_sizes ? open_sizes(k, j, values) : open_tensor(k, j, values);
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
    const std::string wanted = written(*shape, sizes_literal(shape->size()));
    std::string from;
    if (filled)
      from = weight(std::make_shared<const core::Literal>(
          core::Literal::copy(first.data_type(), {}, element_of(first))));
    else
      from =
          added("Range", {scalar(0), written({shape->back()}, core::Literal::ints({}, Values{0})),
                          scalar(1)});
    result_.model.mutable_graph()->mutable_node(k)->set_input(j, added("Expand", {from, wanted}));
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
      const auto formula = formula_of(sizes);
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
    const bool is_reshape =
        own.domain().empty() && own.op_type() == "Reshape" && j == 1 && own.attribute_size() == 0;
    if (is_reshape) let_reshape_infer(k, elements);
    std::vector<Formula> formulas;
    std::optional<std::size_t> inferred;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      const auto formula = formula_of(elements[e]);
      const bool may_infer = is_reshape && !inferred && !has(elements, -1);
      if (!formula && !may_infer) return differ(own, "sizes that do not follow from its inputs'");
      if (!formula) inferred = e;
      formulas.push_back(formula.value_or(Formula{{}, {}, 1, -1}));
    }
    result_.model.mutable_graph()->mutable_node(k)->set_input(j, written(formulas, *values[0]));
    return core::Done{};
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

  /// A number, a multiple of a size, one more or less than a size, a multiple of two sizes.
  std::optional<Formula> formula_of(const Values& values) const {
    if (is_same_everywhere(values)) return Formula{{}, {}, 1, values[0]};
    const auto factor_of = [&](const Values& of) -> std::optional<std::int64_t> {
      if (of[0] == 0 || values[0] % of[0] != 0) return std::nullopt;
      const std::int64_t factor = values[0] / of[0];
      for (std::size_t f = 0; f < of.size(); ++f)
        if (values[f] != factor * of[f]) return std::nullopt;
      return factor;
    };
    for (std::size_t s = 0; s < sizes_.size(); ++s)
      if (const auto factor = factor_of(sizes_[s].values)) return Formula{s, {}, *factor, 0};
    for (std::size_t s = 0; s < sizes_.size(); ++s) {
      const std::int64_t offset = values[0] - sizes_[s].values[0];
      bool fits = true;
      for (std::size_t f = 0; f < values.size(); ++f)
        fits = fits && values[f] == sizes_[s].values[f] + offset;
      if (fits) return Formula{s, {}, 1, offset};
    }
    for (std::size_t a = 0; a < sizes_.size(); ++a) {
      for (std::size_t b = a + 1; b < sizes_.size(); ++b) {
        Values product = sizes_[a].values;
        for (std::size_t f = 0; f < product.size(); ++f) product[f] *= sizes_[b].values[f];
        if (const auto factor = factor_of(product)) return Formula{a, b, *factor, 0};
      }
    }
    return std::nullopt;
  }

  // --- Writing -------------------------------------------------------------------------------

  /// The name of a tensor with these elements, of the type and shape of `like`.
  std::string written(const std::vector<Formula>& formulas, const core::Literal& like) {
    Values plain;
    std::string key = fmt::format("{} {} ", core::to_string(like.data_type()), like.dims().size());
    for (const Formula& f : formulas) {
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
      for (const Formula& formula : formulas) parts.push_back(element(formula));
      all = parts.size() == 1 ? parts[0] : added("Concat", parts, "axis", 0);
    }
    if (like.dims().empty()) all = added("Reshape", {all, constant({0}, {})});
    if (like.data_type() != core::DataType::kInt64)
      all = added("Cast", {all}, "to", data_type_to_onnx(like.data_type()));
    return name = all;
  }

  std::string element(const Formula& formula) {
    if (!formula.first) return constant({1}, {formula.offset});
    std::string value = size(*formula.first);
    if (formula.second) value = added("Mul", {value, size(*formula.second)});
    if (formula.factor != 1) value = added("Mul", {value, constant({1}, {formula.factor})});
    if (formula.offset != 0) value = added("Add", {value, constant({1}, {formula.offset})});
    return value;
  }

  std::string size(std::size_t number) {
    Size& its = sizes_[number];
    if (!its.name.empty()) return its.name;
    const auto place = constant({1}, {static_cast<std::int64_t>(its.dimension)});
    return its.name = added("Gather", {added("Shape", {its.input}), place}, "axis", 0);
  }

  std::string constant(Dims dims, const Values& values) {
    return weight(
        std::make_shared<const core::Literal>(core::Literal::ints(std::move(dims), values)));
  }
  std::string scalar(std::int64_t value) { return constant({}, {value}); }

  std::string weight(LiteralPtr value) {
    result_.weights.push_back({std::move(value), fresh()});
    return result_.weights.back().name;
  }

  std::string added(const char* op, const std::vector<std::string>& inputs,
                    const char* attribute = nullptr, std::int64_t number = 0) {
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

  std::string fresh() {
    std::string name;
    do name = fmt::format("open_size_{}", next_++);
    while (files_[0].is_taken(name));
    return name;
  }

  /// They read inputs alone.
  void put_new_nodes_first() {
    onnx::GraphProto& graph = *result_.model.mutable_graph();
    google::protobuf::RepeatedPtrField<onnx::NodeProto> old;
    old.Swap(graph.mutable_node());
    for (onnx::NodeProto& made : new_nodes_) *graph.add_node() = std::move(made);
    for (onnx::NodeProto& kept : old) *graph.add_node() = std::move(kept);
  }

  /// A size of an input that is not the same in all files.
  struct Size {
    std::string input;
    std::size_t dimension = 0;
    Values values;
    std::string name;  ///< Of the tensor that holds it; empty: there is none yet.
  };
  static constexpr std::int64_t kMostElements = 64;
  static constexpr int kOpsetOfRange = 11;

  ExportedModel result_;
  std::vector<File> files_;
  std::vector<std::unordered_map<std::string, std::string>> names_;  // by file: ours, by theirs
  std::vector<Size> sizes_;
  std::map<std::string, std::string> written_;
  std::vector<onnx::NodeProto> new_nodes_;
  std::size_t next_ = 0;
};

}  // namespace

core::Result<ExportedModel> with_open_constants(std::span<const ExportedModel> files) {
  return OpenFile(files).run();
}

}  // namespace soapstone::models
