// From terms to graphs: the two sides of a rule.
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "generator/terms/term.h"
#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

using core::Attributes;
using core::GraphBuilder;
using core::Polynomial;
using core::Result;
using core::Shape;
using core::TensorId;
using Sizes = std::vector<Polynomial>;

void collect(const TermTable& terms, TermId id, Renaming names, std::set<Variable>& found) {
  const Term& term = terms[id];
  std::size_t variable = 0;
  for (std::size_t g = 0; g < Universe::kMostGroups; ++g)
    for (unsigned k = 0; k < term.variables.of(g); ++k)
      found.insert({static_cast<std::uint8_t>(g), static_cast<std::uint8_t>(names.of(variable++))});
}

/// Builds one side.
class SideBuilder {
 public:
  SideBuilder(const TermTable& terms, const std::set<Variable>& variables)
      : terms_(terms), builder_({}, terms.universe().symbols) {
    for (const Variable& v : variables) {
      const InputGroup& group = terms.universe().groups[v.group];
      inputs_.emplace(v, builder_.add_input(fmt::format("{}{}", group.stem, v.index), group.type));
    }
  }

  Result<TensorId> add(TermId id, Renaming names) {
    if (terms_.is_variable(id))
      return inputs_.at({static_cast<std::uint8_t>(id), static_cast<std::uint8_t>(names.of(0))});
    if (terms_.is_constant(id))
      return constant(terms_.universe().constants[id - terms_.universe().groups.size()]);
    const Term& term = terms_[id];
    const Application& application = terms_.applications()[term.application];
    std::vector<TensorId> operands;
    for (std::size_t k = 0; k < application.operands.size(); ++k) {
      const Renaming inner =
          compose(term.renamings[k], terms_[term.children[k]].variables, names, term.variables);
      SOAPSTONE_ASSIGN_OR_RETURN(const TensorId operand, add(term.children[k], inner));
      operands.push_back(operand);
    }
    SOAPSTONE_ASSIGN_OR_RETURN(const auto results, node(application.op->name, std::move(operands),
                                                        application.attributes));
    return results[application.output_index];
  }

  Result<core::Graph> finish(std::vector<TensorId> outputs) && {
    // A result that is an input or the same twice is still a result.
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (builder_.tensor(outputs[k]).name.empty())
        builder_.set_name(outputs[k], fmt::format("y{}", k));
    builder_.set_outputs(std::move(outputs));
    return std::move(builder_).finish();
  }

 private:
  /// Equal nodes are one.
  Result<std::vector<TensorId>> node(const std::string& op, std::vector<TensorId> inputs,
                                     const Attributes& attributes) {
    std::vector<std::uint32_t> ids;
    for (TensorId id : inputs) ids.push_back(id.value);
    std::string key = op;
    for (const auto& [name, value] : attributes.values())
      key += fmt::format(";{}={}", name, core::to_string(value, terms_.universe().symbols));
    const auto known = nodes_.find({key, ids});
    if (known != nodes_.end()) return known->second;
    SOAPSTONE_ASSIGN_OR_RETURN(auto results,
                               ops::append(builder_, op, std::move(inputs), attributes));
    nodes_.emplace(std::pair(std::move(key), std::move(ids)), results);
    return results;
  }

  Result<TensorId> append(const std::string& op, std::vector<TensorId> inputs,
                          const Attributes& attributes) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto results, node(op, std::move(inputs), attributes));
    return results[0];
  }

  Result<TensorId> filled(const Shape& shape, double value) {
    return append("full", {}, {{"shape", shape}, {"value", value}});
  }

  Result<TensorId> constant(const ConstantInput& input) {
    Shape shape = input.type.shape;
    if (input.constant == Constant::kZero) return filled(shape, 0.0);
    if (input.constant == Constant::kOne) return filled(shape, 1.0);
    if (input.constant != Constant::kAveragePool) return append("eye", {}, {{"shape", shape}});
    // Each window of the kernel in it has the center of the larger kernel once.
    const Sizes kernel(shape.begin() + 2, shape.end());
    for (std::size_t d = 2; d < shape.size(); ++d) shape[d] = shape[d] * 2 - 1;
    SOAPSTONE_ASSIGN_OR_RETURN(const TensorId wide, append("eye", {}, {{"shape", shape}}));
    return append("average_pool", {wide}, {{"kernel", kernel}});
  }

  const TermTable& terms_;
  GraphBuilder builder_;
  std::map<Variable, TensorId> inputs_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::vector<TensorId>> nodes_;
};

Result<core::Graph> build(const TermTable& terms, const std::set<Variable>& variables,
                          std::span<const NamedTerm> side) {
  SideBuilder builder(terms, variables);
  std::vector<TensorId> outputs;
  for (const NamedTerm& t : side) {
    SOAPSTONE_ASSIGN_OR_RETURN(const TensorId id, builder.add(t.term, t.names));
    outputs.push_back(id);
  }
  return std::move(builder).finish(std::move(outputs));
}

}  // namespace

Result<Sides> to_graphs(const TermTable& terms, std::span<const NamedTerm> source,
                        std::span<const NamedTerm> target) {
  std::set<Variable> variables;
  for (const auto& side : {source, target})
    for (const NamedTerm& t : side) collect(terms, t.term, t.names, variables);
  SOAPSTONE_ASSIGN_OR_RETURN(core::Graph left, build(terms, variables, source));
  SOAPSTONE_ASSIGN_OR_RETURN(core::Graph right, build(terms, variables, target));
  return Sides{std::move(left), std::move(right)};
}

}  // namespace soapstone::generator
