// Reads a graph: resolves the names of statements, infers types, and builds.
#include <map>

#include "core/text/literal_text.h"
#include "core/text/statements.h"
#include "core/text/text.h"

namespace soapstone::core {
namespace {

class GraphParser {
 public:
  GraphParser(std::string_view text, const OpCatalog& catalog, const InferTypes& infer,
              const FindLiteral& find_literal)
      : tokens_(std::string(text)), catalog_(catalog), infer_(infer), find_literal_(find_literal) {}

  Result<Graph> run() {
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("graph"));
    if (tokens_.on_same_line()) {
      SOAPSTONE_ASSIGN_OR_RETURN(auto name, tokens_.expect_name("the name of the graph"));
      builder_.set_graph_name(std::move(name));
    }
    SOAPSTONE_RETURN_IF_ERROR(parse_symbols());
    while (!tokens_.accept("return")) {
      if (tokens_.at_end()) return tokens_.expected("a statement or `return`");
      SOAPSTONE_ASSIGN_OR_RETURN(auto statement, parse_statement(tokens_, builder_.symbols()));
      SOAPSTONE_RETURN_IF_ERROR(std::visit([&](auto& s) { return add(s); }, statement));
    }
    SOAPSTONE_RETURN_IF_ERROR(parse_outputs());
    return std::move(builder_).finish();
  }

 private:
  /// `symbols n, m`: their order, where it is not that of their first use.
  Status parse_symbols() {
    if (!tokens_.accept("symbols")) return Done{};
    do {
      const Token token = tokens_.next();
      if (token.kind != TokenKind::kIdentifier && token.kind != TokenKind::kSymbol) {
        return TokenStream::error_at(token, "expected the name of a symbol");
      }
      builder_.symbols().intern(token.text);
    } while (tokens_.accept(","));
    return Done{};
  }

  Status parse_outputs() {
    std::vector<TensorId> outputs;
    while (!tokens_.at_end()) {
      if (!outputs.empty()) SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(","));
      const Token at = tokens_.peek();
      SOAPSTONE_ASSIGN_OR_RETURN(auto name, tokens_.expect_name("a tensor name"));
      SOAPSTONE_ASSIGN_OR_RETURN(const TensorId id, find({std::move(name), at}));
      outputs.push_back(id);
    }
    builder_.set_outputs(std::move(outputs));
    return Done{};
  }

  Status add(const InputSyntax& input) {
    SOAPSTONE_RETURN_IF_ERROR(check_new(input.name));
    SOAPSTONE_ASSIGN_OR_RETURN(auto type, resolve(input.type, input.name.at));
    return define(input.name, builder_.add_input(input.name.name, std::move(type)));
  }

  Status add(const ConstantSyntax& constant) {
    SOAPSTONE_RETURN_IF_ERROR(check_new(constant.name));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto type, resolve(constant.type, constant.name.at));
    const auto dims = concrete(type.shape);
    if (!dims || !type.shape_known) {
      return error(constant.name, "the shape of a constant must be numbers");
    }
    if (!constant.hash) {
      auto literal = literal_from_values(type.data_type, *dims, constant.values);
      if (!literal) return error(constant.name, literal.error().message);
      auto value = std::make_shared<const Literal>(*std::move(literal));
      return define(constant.name, builder_.add_constant(std::move(value), constant.name.name));
    }
    LiteralPtr value = find_literal_ ? find_literal_(*constant.hash) : nullptr;
    if (!value) {
      return error(constant.name, "the values of constant `" + constant.name.name +
                                      "` are not in this text and were not given with it");
    }
    if (value->data_type() != type.data_type || value->dims() != *dims) {
      return error(constant.name, "the constant with this hash is " +
                                      std::string(to_string(value->data_type())) +
                                      to_string(value->dims()));
    }
    return define(constant.name, builder_.add_constant(std::move(value), constant.name.name));
  }

  Status add(const NodeSyntax& node) {
    SOAPSTONE_ASSIGN_OR_RETURN(const OpSchema* op, resolve_op(node, catalog_));
    SOAPSTONE_ASSIGN_OR_RETURN(auto attributes, resolve_attributes(node, *op));
    std::vector<TensorId> inputs;
    std::vector<TensorType> input_types;
    bool inputs_known = true;
    for (const auto& operand : node.operands) {
      if (!operand) {
        inputs.push_back(TensorId::none());
        input_types.push_back({DataType::kFloat32, {}, false});
        continue;
      }
      SOAPSTONE_ASSIGN_OR_RETURN(const TensorId id, find(*operand));
      inputs.push_back(id);
      input_types.push_back(builder_.tensor(id).type);
      inputs_known = inputs_known && input_types.back().shape_known;
    }
    const bool trust_text = op->is_opaque() || !inputs_known;
    SOAPSTONE_ASSIGN_OR_RETURN(auto types,
                               result_types(node, *op, attributes, input_types, trust_text));
    for (const ResultSyntax& result : node.results)
      SOAPSTONE_RETURN_IF_ERROR(check_new(result.name));
    const auto outputs = builder_.add_node(*op, std::move(attributes), std::move(inputs),
                                           std::move(types), node.name);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      builder_.set_name(outputs[i], node.results[i].name.name);
      SOAPSTONE_RETURN_IF_ERROR(define(node.results[i].name, outputs[i]));
    }
    return Done{};
  }

  /// The types of a node's results. A type in the text wins if nothing can be inferred; otherwise
  /// both must agree.
  Result<std::vector<TensorType>> result_types(const NodeSyntax& node, const OpSchema& op,
                                               const Attributes& attributes,
                                               std::span<const TensorType> inputs,
                                               bool trust_text) {
    std::vector<TensorType> types;
    bool all_written = true;
    for (const ResultSyntax& result : node.results) {
      TensorType type{DataType::kFloat32, {}, false};
      if (result.type) {
        SOAPSTONE_ASSIGN_OR_RETURN(type, resolve(*result.type, result.name.at));
      }
      all_written = all_written && result.type;
      types.push_back(std::move(type));
    }
    if (op.is_opaque() || (trust_text && all_written)) return types;
    auto inferred = infer_(op, attributes, inputs);
    if (!inferred) return inferred.error().at(TokenStream::where(node.at));
    if (inferred->size() != types.size()) {
      return TokenStream::error_at(
          node.at, "`" + op.name + "` has " + std::to_string(inferred->size()) + " results, but " +
                       std::to_string(types.size()) + " names are given");
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!node.results[i].type || types[i] == (*inferred)[i]) continue;
      if (!trust_text) {
        return error(node.results[i].name,
                     "`" + node.results[i].name.name + "` is " + text((*inferred)[i]));
      }
      (*inferred)[i] = types[i];
    }
    return inferred;
  }

  Result<TensorType> resolve(const TypeSyntax& type, const Token& at) {
    if (!type.data_type) return TokenStream::error_at(at, "the element type is missing: `f32[…]`");
    for (const Size& size : type.shape) {
      if (size.is_constant() && size.constant() < 0) {
        return TokenStream::error_at(at, "a size is negative");
      }
    }
    return TensorType{*type.data_type, type.shape, type.shape_known};
  }

  std::string text(const TensorType& type) {
    return std::string(to_string(type.data_type)) +
           (type.shape_known ? to_string(type.shape, builder_.symbols()) : "[?]");
  }

  Result<TensorId> find(const NameSyntax& name) {
    const auto at = tensors_.find(name.name);
    if (at == tensors_.end()) return error(name, "`" + name.name + "` is not defined");
    return at->second;
  }

  Status check_new(const NameSyntax& name) {
    if (tensors_.contains(name.name)) return error(name, "`" + name.name + "` is defined twice");
    return Done{};
  }

  Status define(const NameSyntax& name, TensorId id) {
    SOAPSTONE_RETURN_IF_ERROR(check_new(name));  // `y, y = …` defines it twice in one statement
    tensors_.emplace(name.name, id);
    return Done{};
  }

  static Error error(const NameSyntax& name, const std::string& message) {
    return TokenStream::error_at(name.at, message);
  }

  TokenStream tokens_;
  const OpCatalog& catalog_;
  const InferTypes& infer_;
  const FindLiteral& find_literal_;
  GraphBuilder builder_;
  std::map<std::string, TensorId, std::less<>> tensors_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const OpCatalog& catalog, const InferTypes& infer,
                          const FindLiteral& find_literal) {
  return GraphParser(text, catalog, infer, find_literal).run();
}

}  // namespace soapstone::core
