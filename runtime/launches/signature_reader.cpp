// See signature_reader.h. Grammar: NODE { -> NODE } { | TENSOR }, where a node is as in graphs with
// operands `%`, `%2` or `_`, and a tensor `%0: f32[2]`, `%1: constant 0.5 f32[]` or
// `result %3: f32[2] channels-last`.
#include "runtime/launches/signature_reader.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/text/literal_text.h"
#include "core/text/statements.h"
#include "ops/definition/registry.h"

namespace soapstone::runtime {
namespace {

using core::TensorId;

/// `%` begins no word of the text language; here it is written as a sign that is one.
constexpr char kTensorSign = '&';

std::string without_percent(std::string_view signature) {
  std::string text(signature);
  bool is_quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '"' && (k == 0 || text[k - 1] != '\\')) is_quoted = !is_quoted;
    if (text[k] == '%' && !is_quoted) text[k] = kTensorSign;
  }
  return text;
}

/// A result within the launch without a number: that of the node before.
constexpr std::size_t kLast = ~std::size_t{0};

struct NodeWords {
  core::NodeSyntax node;
  std::vector<std::optional<std::size_t>> operands;  ///< None: left out.
};

class SignatureReader {
 public:
  explicit SignatureReader(std::string_view signature)
      : tokens_(without_percent(signature)), builder_("signature") {}

  core::Result<SignedLaunch> read() {
    do {
      SOAPSTONE_RETURN_IF_ERROR(read_node());
    } while (accept_arrow());
    bool is_built = false;
    while (tokens_.accept("|")) {
      if (at_tensor()) {
        if (is_built) return tokens_.error("an input behind a result");
        SOAPSTONE_RETURN_IF_ERROR(read_input());
        continue;
      }
      if (!std::exchange(is_built, true)) SOAPSTONE_RETURN_IF_ERROR(append_nodes());
      SOAPSTONE_RETURN_IF_ERROR(read_result());
    }
    if (!tokens_.at_end() || !is_built) return tokens_.expected("a result");
    return finish();
  }

 private:
  bool at_tensor() const { return tokens_.at(std::string_view(&kTensorSign, 1)); }

  bool accept_arrow() {
    if (!tokens_.at("-") || tokens_.peek(1).text != ">") return false;
    tokens_.next();
    tokens_.next();
    return true;
  }

  /// The number behind the sign of a tensor; kLast without one.
  core::Result<std::size_t> read_number() {
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(std::string_view(&kTensorSign, 1)));
    if (tokens_.peek().kind != core::TokenKind::kNumber) return kLast;
    std::size_t number = 0;
    for (const char digit : tokens_.next().text) {
      if (digit < '0' || digit > '9' || number > kLast / 100)
        return tokens_.error("this is the number of no tensor");
      number = 10 * number + static_cast<std::size_t>(digit - '0');
    }
    return number;
  }

  core::Status read_node() {
    NodeWords words;
    words.node.at = tokens_.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(words.node.op, tokens_.expect_name("an operator"));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("("));
    while (!tokens_.at(";") && !tokens_.at(")")) {
      if (!words.operands.empty()) SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(","));
      words.operands.emplace_back();
      words.node.operands.emplace_back();
      if (tokens_.accept("_")) continue;
      SOAPSTONE_ASSIGN_OR_RETURN(words.operands.back(), read_number());
      words.node.operands.back().emplace();
    }
    for (bool is_first = true; !tokens_.accept(")"); is_first = false) {
      SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(is_first ? ";" : ","));
      core::AttributeSyntax& attribute = words.node.attributes.emplace_back();
      attribute.at = tokens_.peek();
      SOAPSTONE_ASSIGN_OR_RETURN(attribute.name, tokens_.expect_name("an attribute"));
      SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("="));
      SOAPSTONE_ASSIGN_OR_RETURN(attribute.value,
                                 core::parse_attribute_value(tokens_, builder_.symbols()));
    }
    nodes_.push_back(std::move(words));
    return core::Done{};
  }

  core::Result<core::TensorType> read_type(Layout& layout) {
    const core::Token at = tokens_.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(core::TypeSyntax type,
                               core::parse_type(tokens_, builder_.symbols()));
    if (!type.data_type) return core::TokenStream::error_at(at, "a type without that of elements");
    if (tokens_.accept("channels")) {
      SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("-"));
      SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("last"));
      layout = Layout::kChannelsLast;
    }
    return core::TensorType{*type.data_type, std::move(type.shape), type.shape_known};
  }

  core::Status read_input() {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t number, read_number());
    if (number != launch_.launch.inputs.size()) return tokens_.error("inputs are not in order");
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(":"));
    std::string value;
    if (tokens_.accept("constant")) {
      // `constant 0.5 f32[]`, `constant -inf f32[]`; or no value: `constant f32[8]`.
      if (tokens_.accept("-")) value = "-";
      const std::string& word = tokens_.peek().text;
      if (tokens_.peek().kind == core::TokenKind::kNumber || word == "inf" || word == "nan")
        value += tokens_.next().text;
    }
    Layout& layout = launch_.layouts.inputs.emplace_back(Layout::kRowMajor);
    SOAPSTONE_ASSIGN_OR_RETURN(core::TensorType type, read_type(layout));
    launch_.launch.inputs.push_back(add_input(number, std::move(type), value));
    return core::Done{};
  }

  TensorId add_input(std::size_t number, core::TensorType type, const std::string& value) {
    const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
    if (!value.empty() && dims) {
      if (auto literal = core::literal_from_values(type.data_type, *dims, {value}))
        return builder_.add_constant(std::make_shared<core::Literal>(*std::move(literal)));
    }
    return builder_.add_input(fmt::format("i{}", number), std::move(type));
  }

  /// A node behind another reads its result, and one of two such operands that of the node before.
  TensorId last_result(std::size_t of_those, std::size_t which) const {
    const std::size_t back = std::min(of_those - which, results_.size());
    return back == 0 ? TensorId::none() : results_[results_.size() - back];
  }

  core::Status append_nodes() {
    for (const NodeWords& words : nodes_) {
      SOAPSTONE_ASSIGN_OR_RETURN(const core::OpSchema* const op,
                                 core::resolve_op(words.node, ops::registry()));
      SOAPSTONE_ASSIGN_OR_RETURN(const core::Attributes attributes,
                                 core::resolve_attributes(words.node, *op));
      const auto chained = static_cast<std::size_t>(
          std::ranges::count(words.operands, std::optional<std::size_t>(kLast)));
      std::size_t seen = 0;
      std::vector<TensorId> operands;
      for (const auto& number : words.operands) {
        operands.push_back(!number            ? TensorId::none()
                           : *number == kLast ? last_result(chained, seen++)
                                              : tensor(*number));
        if (number && !operands.back().valid())
          return core::TokenStream::error_at(words.node.at, "an operand that is not there");
      }
      SOAPSTONE_ASSIGN_OR_RETURN(const auto results,
                                 ops::append(builder_, op->name, std::move(operands), attributes));
      results_.insert(results_.end(), results.begin(), results.end());
    }
    return core::Done{};
  }

  /// Inputs first, then results.
  TensorId tensor(std::size_t number) const {
    const std::vector<TensorId>& inputs = launch_.launch.inputs;
    if (number < inputs.size()) return inputs[number];
    const std::size_t result = number - inputs.size();
    return result < results_.size() ? results_[result] : TensorId::none();
  }

  core::Status read_result() {
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("result"));
    // Without numbers all results of the last node are stored, in order.
    TensorId id = TensorId::none();
    if (at_tensor()) {
      SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t number, read_number());
      id = tensor(number);
    } else if (const std::size_t k = launch_.launch.outputs.size(); k < last_results().size()) {
      id = last_results()[k];
    }
    if (!id.valid()) return tokens_.error("a result that no node has");
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(":"));
    launch_.launch.outputs.push_back(id);
    Layout& layout = launch_.layouts.outputs.emplace_back(Layout::kRowMajor);
    SOAPSTONE_ASSIGN_OR_RETURN(const core::TensorType type, read_type(layout));
    if (type != builder_.tensor(id).type) return tokens_.error("a result of another type");
    return core::Done{};
  }

  const std::vector<TensorId>& last_results() const {
    return builder_.node(builder_.tensor(results_.back()).producer).outputs;
  }

  core::Result<SignedLaunch> finish() {
    builder_.set_outputs(launch_.launch.outputs);
    SOAPSTONE_ASSIGN_OR_RETURN(launch_.graph, std::move(builder_).finish());
    const auto order = launch_.graph.order();
    if (order.empty()) return core::invalid_input("a launch without nodes");
    launch_.launch.head = order[0];
    launch_.launch.others.assign(order.begin() + 1, order.end());
    return std::move(launch_);
  }

  core::TokenStream tokens_;
  core::GraphBuilder builder_;
  std::vector<NodeWords> nodes_;
  std::vector<TensorId> results_;
  SignedLaunch launch_;
};

}  // namespace

core::Result<SignedLaunch> read_launch_signature(std::string_view signature) {
  return SignatureReader(signature).read();
}

}  // namespace soapstone::runtime
