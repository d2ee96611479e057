// The statements that graphs and rules share, as syntax: nothing is looked up, no type inferred.
//
//   x: f32[1, 3, n, n]                               InputSyntax (a rule leaves out `f32`)
//   w: f32[8, 3] = constant 0x9a…                    ConstantSyntax
//   b: f32[2] = {0.5, -1}                            ConstantSyntax
//   y, z = op(a, _, b; axis=1, sizes=[n, 2*p - 1])   NodeSyntax
//   y: f32[?] = opaque(x; op_type="T") @"node 1"     NodeSyntax
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/op_schema.h"
#include "core/graph/tensor_type.h"
#include "core/syntax/lexer.h"

namespace soapstone::core {

struct TypeSyntax {
  std::optional<DataType> data_type;
  Shape shape;
  bool shape_known = true;  ///< False: `[?]`.
};

/// A defined or used tensor; `at` is its token, for messages.
struct NameSyntax {
  std::string name;
  Token at;
};

struct InputSyntax {
  NameSyntax name;
  TypeSyntax type;
};

struct ConstantSyntax {
  NameSyntax name;
  TypeSyntax type;
  std::optional<std::uint64_t> hash;  ///< Given by hash; otherwise by values.
  std::vector<std::string> values;    ///< Numbers as written.
};

struct ResultSyntax {
  NameSyntax name;
  std::optional<TypeSyntax> type;
};

struct AttributeSyntax {
  std::string name;
  AttributeValue value;
  Token at;
};

struct NodeSyntax {
  std::vector<ResultSyntax> results;
  std::string op;
  Token at;                                         ///< Token of the operator, for messages.
  std::vector<std::optional<NameSyntax>> operands;  ///< None: `_`, left out.
  std::vector<AttributeSyntax> attributes;
  std::string name;  ///< After `@`; may be empty.
};

using Statement = std::variant<InputSyntax, ConstantSyntax, NodeSyntax>;

/// All of these read from the next token on, put new symbols into `symbols`, and fail with
/// kInvalidInput and line:column in `where`.
Result<Statement> parse_statement(TokenStream& tokens, SymbolTable& symbols);
Result<NodeSyntax> parse_node(TokenStream& tokens, SymbolTable& symbols);
/// `f32[n, 2*n]`, `[n]`, `f32[?]`.
Result<TypeSyntax> parse_type(TokenStream& tokens, SymbolTable& symbols);
/// `2*(n - 1) + p`. Errors: also numbers that do not fit into 64 bits.
Result<Polynomial> parse_polynomial(TokenStream& tokens, SymbolTable& symbols);
/// `[a, b + 1]`.
Result<std::vector<Polynomial>> parse_polynomial_list(TokenStream& tokens, SymbolTable& symbols);
/// A polynomial, a list of them, a real (`0.5`, `-inf`) or a quoted text.
Result<AttributeValue> parse_attribute_value(TokenStream& tokens, SymbolTable& symbols);

/// The schema of the node's operator; its number of operands is one that the operator takes.
Result<const OpSchema*> resolve_op(const NodeSyntax& node, const OpCatalog& catalog);
/// The node's attributes with defaults filled in, each of the kind that the schema asks for.
Result<Attributes> resolve_attributes(const NodeSyntax& node, const OpSchema& schema);

/// `op(a, _; axis=1)`, without the attributes that have their default value.
std::string node_text(const OpSchema& op, const Attributes& attributes,
                      const std::vector<std::string>& operands, const SymbolTable& symbols);

}  // namespace soapstone::core
