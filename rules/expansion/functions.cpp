#include "rules/expansion/functions.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/syntax/lexer.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "rules/expansion/edit.h"

namespace soapstone::rules {
namespace {

using core::AttributeKind;
using core::TokenKind;
using core::TokenStream;

bool is_function(const ops::OpDefinition& op) {
  if (op.op_class != ops::OpClass::kElementwise || op.movement != core::Movement::kNone ||
      op.min_inputs != 1 || op.max_inputs != 1)
    return false;
  for (const core::AttributeSchema& attribute : op.attributes)
    if (attribute.kind() != AttributeKind::kReal && attribute.kind() != AttributeKind::kText)
      return false;
  const core::TensorType number{core::DataType::kFloat32, {}};
  const auto attributes = ops::complete_attributes(op, {});
  const auto types = attributes ? ops::infer_types(op, *attributes, std::span(&number, 1))
                                : core::Result<std::vector<core::TensorType>>(attributes.error());
  return types && (*types)[0].data_type == core::DataType::kFloat32;
}

/// Whether numbers of either sign and 0 have a finite value.
bool is_total(const ops::OpDefinition& op) {
  core::GraphBuilder builder;
  const float numbers[] = {-2, -0.5F, 0, 0.5F, 2};
  const core::TensorId x = builder.add_constant(
      std::make_shared<const core::Literal>(core::Literal::floats({5}, numbers)));
  const auto y = ops::append(builder, op.name, {x});
  if (!y) return false;
  builder.set_outputs(*y);
  const auto graph = std::move(builder).finish();
  const auto values = graph ? ops::evaluate_graph<double>(*graph, {})
                            : core::Result<std::vector<std::vector<double>>>(graph.error());
  return values && std::ranges::all_of((*values)[0], [](double v) { return std::isfinite(v); });
}

/// The texts that the attribute may be, quoted.
std::vector<std::string> words_of(const core::AttributeSchema& attribute) {
  std::vector<std::string> words;
  const auto add = [&](const core::AttributeValue& value) {
    const std::string word = '"' + std::get<std::string>(value) + '"';
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  };
  if (attribute.default_value) add(*attribute.default_value);
  for (const core::AttributeValue& value : attribute.values_to_try) add(value);
  return words;
}

}  // namespace

std::vector<std::string> calls_of_functions(const std::string& name, bool only_total) {
  std::vector<std::string> calls;
  for (const auto& op : ops::registry().all()) {
    if (!is_function(*op) || (only_total && !is_total(*op))) continue;
    std::vector<std::string> begun{op->name + "("};
    std::string comma;
    for (const core::AttributeSchema& attribute : op->attributes) {
      std::vector<std::string> values{name + "_" + attribute.name};
      if (attribute.kind() == AttributeKind::kText) values = words_of(attribute);
      std::vector<std::string> longer;
      for (const std::string& begin : begun)
        for (const std::string& value : values)
          longer.push_back(begin + comma + attribute.name + "=" + value);
      begun = std::move(longer);
      comma = ", ";
    }
    for (const std::string& call : begun) calls.push_back(call + ")");
  }
  return calls;
}

core::Result<std::string> with_calls(const std::string& text, const std::string& name,
                                     const std::string& call) {
  const std::size_t bracket = call.find('(');
  const std::string attributes = call.substr(bracket + 1, call.size() - bracket - 2);
  std::vector<Edit> edits;
  for (TokenStream tokens(text); !tokens.at_end(); tokens.next()) {
    const core::Token& token = tokens.peek();
    if (token.kind != TokenKind::kIdentifier || token.text != name) continue;
    if (!is_punctuation(tokens.peek(1), "("))
      return TokenStream::error_at(token, "`" + name + "` is a function: write `" + name + "(x)`");
    edits.push_back({token.offset, token.offset + name.size(), call.substr(0, bracket)});
    if (attributes.empty()) continue;
    bool has_attributes = false;
    while (!tokens.at_end() && !tokens.at(")")) {
      has_attributes = has_attributes || tokens.at(";");
      tokens.next();
    }
    const std::size_t end = tokens.peek().offset;
    edits.push_back({end, end, (has_attributes ? ", " : "; ") + attributes});
  }
  return edited(text, edits);
}

}  // namespace soapstone::rules
