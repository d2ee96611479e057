// The grammar of statements, and the checks of a node against its operator's schema.
#include "core/text/statements.h"

#include <algorithm>
#include <charconv>

namespace soapstone::core {
namespace {

Result<NameSyntax> parse_name(TokenStream& tokens) {
  NameSyntax name;
  name.at = tokens.peek();
  SOAPSTONE_ASSIGN_OR_RETURN(name.name, tokens.expect_name("a tensor name"));
  return name;
}

Result<std::vector<ResultSyntax>> parse_results(TokenStream& tokens, SymbolTable& symbols) {
  std::vector<ResultSyntax> results;
  do {
    ResultSyntax result;
    SOAPSTONE_ASSIGN_OR_RETURN(result.name, parse_name(tokens));
    if (tokens.accept(":")) {
      SOAPSTONE_ASSIGN_OR_RETURN(result.type, parse_type(tokens, symbols));
    }
    results.push_back(std::move(result));
  } while (tokens.accept(","));
  return results;
}

/// From `{` on.
Result<std::vector<std::string>> parse_values(TokenStream& tokens) {
  std::vector<std::string> values;
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("{"));
  if (tokens.accept("}")) return values;
  do {
    std::string value = tokens.accept("-") ? "-" : "";
    const bool number = tokens.peek().kind == TokenKind::kNumber;
    if (!number && !tokens.at("inf") && !tokens.at("nan")) return tokens.expected("a number");
    values.push_back(value + tokens.next().text);
  } while (tokens.accept(","));
  if (!tokens.accept("}")) return tokens.expected("`,` or `}`");
  return values;
}

/// The number of `constant 0x9a`.
Result<std::uint64_t> parse_hash(TokenStream& tokens) {
  const std::string& text = tokens.peek().text;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const bool hex = tokens.peek().kind == TokenKind::kNumber && text.starts_with("0x");
  if (!hex || std::from_chars(text.data() + 2, end, value, 16).ptr != end || text.size() == 2) {
    return tokens.expected("a hash such as 0x9a");
  }
  tokens.next();
  return value;
}

Status parse_operands(TokenStream& tokens, NodeSyntax& node) {
  if (tokens.at(")") || tokens.at(";")) return Done{};
  do {
    if (tokens.accept("_")) {
      node.operands.emplace_back();
      continue;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(NameSyntax operand, parse_name(tokens));
    node.operands.emplace_back(std::move(operand));
  } while (tokens.accept(","));
  return Done{};
}

Status parse_attributes(TokenStream& tokens, SymbolTable& symbols, NodeSyntax& node) {
  do {
    AttributeSyntax attribute;
    attribute.at = tokens.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(attribute.name, tokens.expect_name("an attribute name"));
    SOAPSTONE_RETURN_IF_ERROR(tokens.expect("="));
    SOAPSTONE_ASSIGN_OR_RETURN(attribute.value, parse_attribute_value(tokens, symbols));
    for (const AttributeSyntax& earlier : node.attributes) {
      if (earlier.name != attribute.name) continue;
      return TokenStream::error_at(attribute.at, "attribute `" + attribute.name + "` given twice");
    }
    node.attributes.push_back(std::move(attribute));
  } while (tokens.accept(","));
  return Done{};
}

/// From the operator on; the results are read already.
Result<NodeSyntax> parse_call(TokenStream& tokens, SymbolTable& symbols,
                              std::vector<ResultSyntax> results) {
  NodeSyntax node;
  node.results = std::move(results);
  node.at = tokens.peek();
  if (node.at.kind != TokenKind::kIdentifier) return tokens.expected("an operator");
  node.op = tokens.next().text;
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("("));
  SOAPSTONE_RETURN_IF_ERROR(parse_operands(tokens, node));
  if (tokens.accept(";")) SOAPSTONE_RETURN_IF_ERROR(parse_attributes(tokens, symbols, node));
  if (!tokens.accept(")")) return tokens.expected("`,` or `)`");
  if (tokens.accept("@")) {
    SOAPSTONE_ASSIGN_OR_RETURN(node.name, tokens.expect_name("a node name"));
  }
  return node;
}

std::string_view kind_text(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::kInt:
    return "an integer";
  case AttributeKind::kReal:
    return "a real number";
  case AttributeKind::kText:
    return "a quoted text";
  case AttributeKind::kInts:
    return "a list of integers";
  }
  return {};
}

/// Whether the value is of that kind, or was made so: an integer will do for a real.
bool convert(AttributeValue& value, AttributeKind kind) {
  static_assert(static_cast<std::size_t>(AttributeKind::kInts) == 3, "kinds follow the variant");
  if (value.index() == static_cast<std::size_t>(kind)) return true;
  const auto* number = std::get_if<Polynomial>(&value);
  if (kind != AttributeKind::kReal || !number || !number->is_constant()) return false;
  value = static_cast<double>(number->constant());
  return true;
}

}  // namespace

Result<NodeSyntax> parse_node(TokenStream& tokens, SymbolTable& symbols) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto results, parse_results(tokens, symbols));
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("="));
  return parse_call(tokens, symbols, std::move(results));
}

Result<Statement> parse_statement(TokenStream& tokens, SymbolTable& symbols) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto results, parse_results(tokens, symbols));
  const bool declares = results.size() == 1 && results[0].type;
  if (!tokens.at("=") && declares) {
    return Statement(InputSyntax{std::move(results[0].name), *std::move(results[0].type)});
  }
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("="));
  const bool by_hash = tokens.at("constant") && tokens.peek(1).text != "(";
  if (!by_hash && !tokens.at("{")) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto node, parse_call(tokens, symbols, std::move(results)));
    return Statement(std::move(node));
  }
  if (!declares) return tokens.error("a constant needs a name and a type: `c: f32[2] = …`");
  ConstantSyntax constant{std::move(results[0].name), *std::move(results[0].type), {}, {}};
  if (by_hash) {
    tokens.next();
    SOAPSTONE_ASSIGN_OR_RETURN(constant.hash, parse_hash(tokens));
  } else {
    SOAPSTONE_ASSIGN_OR_RETURN(constant.values, parse_values(tokens));
  }
  return Statement(std::move(constant));
}

Result<const OpSchema*> resolve_op(const NodeSyntax& node, const OpCatalog& catalog) {
  const OpSchema* op = catalog.find(node.op);
  if (!op) return TokenStream::error_at(node.at, "unknown operator `" + node.op + "`");
  const std::size_t count = node.operands.size();
  if (count >= op->min_inputs && count <= op->max_inputs) return op;
  std::string wanted = std::to_string(op->min_inputs);
  if (op->max_inputs == OpSchema::kAnyNumber) {
    wanted += " or more";
  } else if (op->max_inputs != op->min_inputs) {
    wanted += " to " + std::to_string(op->max_inputs);
  }
  return TokenStream::error_at(node.at, "`" + node.op + "` takes " + wanted + " inputs, not " +
                                            std::to_string(count));
}

Result<Attributes> resolve_attributes(const NodeSyntax& node, const OpSchema& schema) {
  Attributes attributes;
  for (const AttributeSyntax& given : node.attributes) {
    const AttributeSchema* wanted = schema.find_attribute(given.name);
    if (!wanted && !schema.is_opaque()) {
      return TokenStream::error_at(given.at,
                                   "`" + schema.name + "` has no attribute `" + given.name + "`");
    }
    AttributeValue value = given.value;
    if (wanted && !convert(value, wanted->kind())) {
      return TokenStream::error_at(given.at, "attribute `" + given.name + "` must be " +
                                                 std::string(kind_text(wanted->kind())));
    }
    attributes.set(given.name, std::move(value));
  }
  for (const AttributeSchema& wanted : schema.attributes) {
    if (attributes.find(wanted.name)) continue;
    if (!wanted.default_value) {
      return TokenStream::error_at(node.at,
                                   "`" + schema.name + "` needs attribute `" + wanted.name + "`");
    }
    attributes.set(wanted.name, *wanted.default_value);
  }
  return attributes;
}

std::string node_text(const OpSchema& op, const Attributes& attributes,
                      const std::vector<std::string>& operands, const SymbolTable& symbols) {
  std::string text = op.name + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + operands[i];
  bool first = true;
  for (const auto& [name, value] : attributes.values()) {
    const AttributeSchema* schema = op.find_attribute(name);
    if (schema && schema->default_value == value) continue;
    text += first ? "; " : ", ";
    text += quote_name(name) + "=" + to_string(value, symbols);
    first = false;
  }
  return text + ")";
}

}  // namespace soapstone::core
