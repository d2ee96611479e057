// See typing.h. Each side is built anew with types; derived sizes get a name in the symbol table,
// the same name for the same question on both sides, so that equal shapes compare equal.
#include "rules/rule/typing.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/registry.h"
#include "rules/rule/substitute.h"

namespace soapstone::rules {

using core::Attributes;
using core::Polynomial;
using core::Symbol;
using core::TensorType;
using ops::DerivedSize;
using ops::SizeConstraint;

namespace {

/// Symbols and derived sizes that both sides share while they are typed.
class SharedSymbols {
 public:
  explicit SharedSymbols(core::SymbolTable table) : table_(std::move(table)) {}

  /// Takes over a context's derived sizes; afterwards `named` replaces them.
  void take(const std::vector<DerivedSize>& found) {
    fresh_.clear();
    for (const DerivedSize& d : found) {
      DerivedSize ours = d;
      ours.numerator = named(d.numerator);
      fresh_.emplace_back(d.symbol, symbol_of(std::move(ours)));
    }
  }

  Polynomial named(const Polynomial& p) const {
    if (p.is_constant() || fresh_.empty()) return p;
    return p.substitute([&](Symbol s) -> std::optional<Polynomial> {
      for (const auto& [theirs, ours] : fresh_)
        if (theirs == s) return Polynomial(ours);
      return std::nullopt;
    });
  }

  const core::SymbolTable& table() const { return table_; }
  const std::vector<DerivedSize>& derived() const { return derived_; }

 private:
  Symbol symbol_of(DerivedSize size) {
    for (const DerivedSize& known : derived_)
      if (known.kind == size.kind && known.divisor == size.divisor &&
          known.numerator == size.numerator)
        return known.symbol;
    const std::string inner = size.numerator.to_string(table_);
    size.symbol = table_.intern(size.kind == DerivedSize::Kind::kFloorDiv
                                    ? fmt::format("floor(({})/{})", inner, size.divisor)
                                    : fmt::format("max(0, {})", inner));
    derived_.push_back(size);
    return size.symbol;
  }

  core::SymbolTable table_;
  std::vector<DerivedSize> derived_;
  std::vector<std::pair<Symbol, Symbol>> fresh_;
};

/// Rebuilds one side node by node.
class SideTyper {
 public:
  SideTyper(const Graph& side, const Bindings& values, SharedSymbols& symbols)
      : side_(side), values_(values), symbols_(symbols), builder_(side.name(), symbols.table()),
        new_id_(side.tensor_bound()) {}

  core::Status run() {
    for (TensorId id : side_.inputs()) {
      TensorType type = side_.tensor(id).type;
      for (core::Size& size : type.shape) size = substitute(size, values_);
      new_id_[id.index()] = builder_.add_input(side_.tensor(id).name, std::move(type));
    }
    for (NodeId id : side_.order()) {
      failed_ = id;
      SOAPSTONE_RETURN_IF_ERROR(add(id));
    }
    std::vector<TensorId> outputs;
    for (TensorId id : side_.outputs()) outputs.push_back(id_of(id));
    builder_.set_outputs(std::move(outputs));
    return core::Done{};
  }

  Result<Graph> finish(const core::SymbolTable& table) {
    builder_.symbols() = table;
    return std::move(builder_).finish();
  }

  NodeId failed() const { return failed_; }
  const std::vector<SizeConstraint>& constraints() const { return constraints_; }
  const TensorType& output_type(std::size_t k) {
    return builder_.tensor(id_of(side_.outputs()[k])).type;
  }

 private:
  TensorId id_of(TensorId id) {
    if (!id.valid()) return id;
    TensorId& mine = new_id_[id.index()];
    if (!mine.valid()) {  // a constant at its first use
      const core::Tensor& tensor = side_.tensor(id);
      mine = builder_.add_constant(tensor.value, tensor.name);
    }
    return mine;
  }

  core::Status add(NodeId id) {
    const core::Node& node = side_.node(id);
    const ops::OpDefinition* op = ops::definition_of(node);
    if (!op) return core::invalid_input("a rule cannot say anything about opaque nodes");
    std::vector<TensorId> inputs;
    std::vector<TensorType> types;
    for (TensorId input : node.inputs) {
      inputs.push_back(id_of(input));
      types.push_back(input.valid() ? builder_.tensor(inputs.back()).type
                                    : TensorType{core::DataType::kOther, {}, false});
    }
    Attributes attributes = substitute(*op, node.attributes, values_);
    SOAPSTONE_ASSIGN_OR_RETURN(auto results, infer(*op, attributes, types));
    if (results.size() != node.outputs.size())
      return core::invalid_input(fmt::format("{} has {} results, but {} names are given", op->name,
                                             results.size(), node.outputs.size()));
    const auto outputs = builder_.add_node(*op, std::move(attributes), std::move(inputs),
                                           std::move(results), node.name);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      new_id_[node.outputs[k].index()] = outputs[k];
      builder_.set_name(outputs[k], side_.tensor(node.outputs[k]).name);
    }
    return core::Done{};
  }

  Result<std::vector<TensorType>> infer(const ops::OpDefinition& op, const Attributes& attributes,
                                        std::span<const TensorType> types) {
    ops::InferContext context(attributes, types, op.name);
    context.set_first_derived(Symbol{1u << 30});
    std::vector<TensorType> results = op.infer(context);
    if (context.failed()) return context.error();
    symbols_.take(context.derived());
    for (TensorType& type : results)
      for (core::Size& size : type.shape) size = symbols_.named(size);
    for (const SizeConstraint& c : context.constraints())
      constraints_.push_back({c.kind, symbols_.named(c.expression), c.label});
    return results;
  }

  const Graph& side_;
  const Bindings& values_;
  SharedSymbols& symbols_;
  core::GraphBuilder builder_;
  std::vector<TensorId> new_id_;
  std::vector<SizeConstraint> constraints_;
  NodeId failed_;
};

/// Adds what must hold for two results to have the same type.
core::Status require_same_type(const TensorType& a, const TensorType& b, const std::string& name,
                               const core::SymbolTable& symbols,
                               std::vector<SizeConstraint>& requirements) {
  bool same = a.data_type == b.data_type && a.shape.size() == b.shape.size();
  for (std::size_t d = 0; same && d < a.shape.size(); ++d) {
    const Polynomial difference = a.shape[d] - b.shape[d];
    if (difference.is_constant())
      same = difference.constant() == 0;
    else
      requirements.push_back({SizeConstraint::Kind::kZero, difference, "rule.result_shape"});
  }
  if (same) return core::Done{};
  return core::invalid_input(
      fmt::format("`{}` is {}{} in the source but {}{} in the target", name,
                  core::to_string(a.data_type), core::to_string(a.shape, symbols),
                  core::to_string(b.data_type), core::to_string(b.shape, symbols)));
}

}  // namespace

Result<TypedSides> type_sides(const Graph& source, const Graph& target, const Bindings& values,
                              TypingFailure* failure) {
  SharedSymbols symbols(source.symbols());
  SideTyper left(source, values, symbols), right(target, values, symbols);
  const auto fail = [&](bool in_source, NodeId node, const core::Error& error) {
    if (failure) *failure = {in_source, node};
    return error;
  };
  if (auto status = left.run(); !status) return fail(true, left.failed(), status.error());
  if (auto status = right.run(); !status) return fail(false, right.failed(), status.error());
  std::vector<SizeConstraint> requirements = right.constraints();
  for (std::size_t k = 0; k < source.outputs().size(); ++k) {
    const std::string& name = source.tensor(source.outputs()[k]).name;
    auto status = require_same_type(left.output_type(k), right.output_type(k), name,
                                    symbols.table(), requirements);
    if (!status) return fail(true, NodeId::none(), status.error());
  }
  SOAPSTONE_ASSIGN_OR_RETURN(Graph typed_source, left.finish(symbols.table()));
  SOAPSTONE_ASSIGN_OR_RETURN(Graph typed_target, right.finish(symbols.table()));
  return TypedSides{std::move(typed_source), std::move(typed_target), left.constraints(),
                    std::move(requirements), symbols.derived()};
}

}  // namespace soapstone::rules
