// One rule instance: statements of both sides, names to tensors, results by their names, evidence.
#include "rules/rule_parser.h"

#include <algorithm>

#include "core/literal_text.h"
#include "core/statements.h"
#include "ops/size_limits.h"
#include "rules/complete.h"
#include "rules/evidence.h"
#include "rules/rule_side.h"
#include "rules/typing.h"

namespace soapstone::rules {
namespace {

using core::Error;
using core::NameSyntax;
using core::Polynomial;
using core::Status;
using core::Token;
using core::TokenStream;
using ops::SizeConstraint;

/// Of the operators of one side. Matching and proving are made for a few operators; what takes
/// longer than anyone waits is refused when it is read.
constexpr std::size_t kMostResults = 1000;

class InstanceParser {
 public:
  InstanceParser(const std::string& text, Purpose purpose) : tokens_(text), purpose_(purpose) {}

  Result<std::optional<Rule>> run() {
    SOAPSTONE_RETURN_IF_ERROR(parse_head());
    if (left_out_) return std::optional<Rule>();
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("source"));
    while (!tokens_.at("target")) SOAPSTONE_RETURN_IF_ERROR(parse_node(source_));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("target"));
    while (!at_tail()) SOAPSTONE_RETURN_IF_ERROR(parse_target_statement());
    SOAPSTONE_RETURN_IF_ERROR(parse_tail());
    SOAPSTONE_RETURN_IF_ERROR(finish_sides());
    return finish_rule();
  }

 private:
  static Error error(const Token& at, std::string message) {
    return TokenStream::error_at(at, std::move(message));
  }

  bool at_tail() const {
    const bool word = tokens_.at("checked") || tokens_.at("proof");
    return tokens_.at_end() || (word && tokens_.peek(1).text != "=");
  }

  // Head: name, symbols, inputs, constants, conditions.

  Status parse_head() {
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("rule"));
    SOAPSTONE_ASSIGN_OR_RETURN(rule_.name, tokens_.expect_name("the name of the rule"));
    if (tokens_.at("symbols") && tokens_.peek(1).text != ":") parse_symbols();
    while (!left_out_ && !tokens_.at("source")) {
      if (tokens_.at_end()) return tokens_.expected("an input or `source`");
      if (tokens_.at("where") && tokens_.peek(1).text != ":") {
        SOAPSTONE_RETURN_IF_ERROR(parse_where());
      } else {
        SOAPSTONE_RETURN_IF_ERROR(parse_declaration());
      }
    }
    return core::Done{};
  }

  void parse_symbols() {
    tokens_.next();
    do {
      symbols_.intern(tokens_.next().text);
    } while (tokens_.accept(","));
  }

  Status parse_where() {
    tokens_.next();
    do {
      SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial left, core::parse_polynomial(tokens_, symbols_));
      if (!is_small(left)) return tokens_.error("a number of the condition is too large");
      const bool less = tokens_.accept("<"), greater = !less && tokens_.accept(">");
      const bool equal = tokens_.accept("=");
      if (!less && !greater && !equal) return tokens_.expected("`=`, `<`, `<=`, `>` or `>=`");
      SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial right, core::parse_polynomial(tokens_, symbols_));
      if (!is_small(right)) return tokens_.error("a number of the condition is too large");
      Polynomial difference = less ? right - left : left - right;
      if ((less || greater) && !equal) difference += Polynomial(-1);
      add_condition(less || greater ? SizeConstraint::Kind::kNonNegative
                                    : SizeConstraint::Kind::kZero,
                    difference);
    } while (tokens_.accept(","));
    return core::Done{};
  }

  /// Differences of such numbers fit into 64 bits.
  static bool is_small(const Polynomial& p) {
    const auto small = [](std::int64_t value) {
      return value >= -ops::kLargestSize && value <= ops::kLargestSize;
    };
    return small(p.constant()) && std::ranges::all_of(p.terms(), [&](const Polynomial::Term& term) {
             return small(term.coefficient);
           });
  }

  void add_condition(SizeConstraint::Kind kind, const Polynomial& p) {
    if (!p.is_constant()) {
      rule_.guard.push_back({kind, p, "where"});
    } else if (kind == SizeConstraint::Kind::kZero ? p.constant() != 0 : p.constant() < 0) {
      left_out_ = true;
    }
  }

  Status parse_declaration() {
    const Token at = tokens_.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(auto statement, core::parse_statement(tokens_, symbols_));
    if (auto* input = std::get_if<core::InputSyntax>(&statement)) return add_input(*input);
    if (auto* constant = std::get_if<core::ConstantSyntax>(&statement))
      return add_constant(*constant);
    return error(at, "an operator before `source`");
  }

  Status add_input(const core::InputSyntax& input) {
    if (!input.type.shape_known) return error(input.name.at, "an input of a rule needs a shape");
    const bool constant =
        tokens_.on_same_line() && tokens_.peek(1).text != ":" && tokens_.accept("constant");
    const core::TensorType type{input.type.data_type.value_or(core::DataType::kFloat32),
                                input.type.shape, true};
    rule_.constant_inputs.push_back(constant);
    inputs_.push_back(input.name);
    for (RuleSide* side : {&source_, &target_})
      SOAPSTONE_RETURN_IF_ERROR(
          side->define(input.name, side->builder.add_input(input.name.name, type)));
    return core::Done{};
  }

  Status add_constant(const core::ConstantSyntax& constant) {
    const auto dims = core::concrete(constant.type.shape);
    if (constant.hash || !dims)
      return error(constant.name.at, "a constant of a rule needs sizes and values in numbers");
    auto literal = core::literal_from_values(
        constant.type.data_type.value_or(core::DataType::kFloat32), *dims, constant.values);
    if (!literal) return error(constant.name.at, literal.error().message);
    const auto value = std::make_shared<const core::Literal>(*std::move(literal));
    for (RuleSide* side : {&source_, &target_})
      SOAPSTONE_RETURN_IF_ERROR(
          side->define(constant.name, side->builder.add_constant(value, constant.name.name)));
    return core::Done{};
  }

  // Nodes.

  Status parse_target_statement() {
    const bool alias =
        tokens_.at_name() && tokens_.peek(1).text == "=" && tokens_.peek(3).text != "(";
    if (!alias) return parse_node(target_);
    NameSyntax result{{}, tokens_.peek()}, value;
    SOAPSTONE_ASSIGN_OR_RETURN(result.name, tokens_.expect_name("a result"));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("="));
    value.at = tokens_.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(value.name, tokens_.expect_name("a tensor"));
    return target_.add_alias(result, value);
  }

  Status parse_node(RuleSide& side) {
    if (tokens_.at_end()) return tokens_.expected("a statement or `target`");
    if (side.result_count() >= kMostResults)
      return tokens_.error("a side has more than " + std::to_string(kMostResults) + " results");
    SOAPSTONE_ASSIGN_OR_RETURN(const auto node, core::parse_node(tokens_, symbols_));
    return side.add_node(node);
  }

  // Tail and result.

  Status parse_tail() {
    if (tokens_.at_end()) return core::Done{};
    const Token at = tokens_.next();
    const auto kind = at.text == "proof" ? Evidence::Kind::kProved : Evidence::Kind::kChecked;
    const std::string rest = tokens_.on_same_line() ? tokens_.rest_of_line() : "";
    auto line = parse_evidence(kind, rest);
    if (!line) return error(at, line.error().message);
    put_label(*line, rule_);
    if (!tokens_.at_end()) return tokens_.expected("the end of the rule");
    return core::Done{};
  }

  /// Results are the names that both sides define, in the order of the source.
  Status finish_sides() {
    std::vector<TensorId> outputs, target_outputs;
    for (const NameSyntax& name : source_.results()) {
      if (!target_.is_result(name.name)) continue;
      outputs.push_back(source_.tensor(name.name));
      target_outputs.push_back(target_.tensor(name.name));
      source_.mark_read(outputs.back());
      target_.mark_read(target_outputs.back());
    }
    if (outputs.empty()) return tokens_.error("both sides must define the results by one name");
    SOAPSTONE_RETURN_IF_ERROR(refuse_useless());
    source_.builder.set_outputs(std::move(outputs));
    target_.builder.set_outputs(std::move(target_outputs));
    return core::Done{};
  }

  Status refuse_useless() const {
    for (const NameSyntax& name : source_.results())
      if (!source_.is_of_use(source_.tensor(name.name)))
        return error(name.at, "the target does not define the result `" + name.name + "`");
    for (const NameSyntax& name : target_.results())
      if (!target_.is_of_use(target_.tensor(name.name)))
        return error(name.at, "`" + name.name + "` is neither read nor a result of the source");
    for (const NameSyntax& input : inputs_)
      if (!source_.is_read(source_.tensor(input.name)))
        return error(input.at, "the source does not read `" + input.name + "`");
    return core::Done{};
  }

  Result<std::optional<Rule>> finish_rule() {
    for (RuleSide* side : {&source_, &target_}) side->builder.symbols() = symbols_;
    SOAPSTONE_ASSIGN_OR_RETURN(rule_.source, std::move(source_.builder).finish());
    SOAPSTONE_ASSIGN_OR_RETURN(rule_.target, std::move(target_.builder).finish());
    TypingFailure failure;
    auto rule = complete(std::move(rule_), &failure, purpose_);
    if (rule) return std::optional(*std::move(rule));
    if (!failure.node.valid()) return rule.error();
    const RuleSide& side = failure.in_source ? source_ : target_;
    return error(side.operator_at(failure.node), rule.error().message);
  }

  TokenStream tokens_;
  Purpose purpose_;
  core::SymbolTable symbols_;
  Rule rule_;
  bool left_out_ = false;
  std::vector<NameSyntax> inputs_;
  RuleSide source_, target_;
};

}  // namespace

Result<std::optional<Rule>> parse_instance(const std::string& text, Purpose purpose) {
  return InstanceParser(text, purpose).run();
}

}  // namespace soapstone::rules
