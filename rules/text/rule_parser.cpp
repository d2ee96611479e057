// One rule instance: statements of both sides, names to tensors, results by their names, evidence.
#include "rules/text/rule_parser.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/text/literal_text.h"
#include "core/text/statements.h"
#include "ops/language/size_limits.h"
#include "rules/checking/complete.h"
#include "rules/rule/constraints.h"
#include "rules/rule/substitute.h"
#include "rules/rule/typing.h"
#include "rules/text/evidence.h"
#include "rules/text/rule_side.h"

namespace soapstone::rules {
namespace {

using core::Error;
using core::NameSyntax;
using core::Polynomial;
using core::Status;
using core::Token;
using core::TokenStream;
using ops::SizeConstraint;

constexpr std::size_t kMostCases = 6;  ///< Conditions with `!=`: each makes two of a rule.
/// The most operators of one side. Matching and proving are made for a few operators; what takes
/// longer than anyone waits is refused when it is read.
constexpr std::size_t kMostResults = 1000;

class InstanceParser {
 public:
  /// `cases`: for each `!=` on symbols, whether it is `>` rather than `<`; those beyond are `<`.
  InstanceParser(const std::string& text, Purpose purpose, std::vector<bool> cases)
      : tokens_(text), purpose_(purpose), cases_(std::move(cases)) {}

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

  /// The cases that were taken, in the order of the text; and as text.
  const std::vector<bool>& cases() const { return cases_; }
  const std::string& cases_text() const { return cases_text_; }

 private:
  static Error error(const Token& at, const std::string& message, std::string hint = {}) {
    Error problem = TokenStream::error_at(at, message);
    problem.hint = std::move(hint);
    return problem;
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
      const bool declares = tokens_.peek(1).text == ":";
      if (!declares && tokens_.at("where")) {
        SOAPSTONE_RETURN_IF_ERROR(parse_where());
      } else if (!declares && tokens_.at("choose")) {
        SOAPSTONE_RETURN_IF_ERROR(parse_choice());
      } else if (!declares && tokens_.at("placed")) {
        tokens_.next();
        rule_.is_placed = true;
      } else if (!declares && (tokens_.at("results") || tokens_.at("result"))) {
        SOAPSTONE_RETURN_IF_ERROR(parse_results());
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
      const Token at = tokens_.peek();
      SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial left, core::parse_polynomial(tokens_, symbols_));
      SOAPSTONE_ASSIGN_OR_RETURN(const std::string relation, parse_relation());
      SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial right, core::parse_polynomial(tokens_, symbols_));
      if (!is_small(left) || !is_small(right) || !add_condition(left, relation, right))
        return too_large(at);
    } while (tokens_.accept(","));
    return core::Done{};
  }

  /// Numbers that are computed from conditions later then fit, too.
  static bool is_small(const Polynomial& p) {
    const auto small = [](std::int64_t value) {
      return value >= -ops::kLargestSize && value <= ops::kLargestSize;
    };
    return small(p.constant()) && std::ranges::all_of(p.terms(), [&](const Polynomial::Term& term) {
             return small(term.coefficient);
           });
  }

  static Error too_large(const Token& at) {
    return error(at, "a number in the condition does not fit into 64 bits");
  }

  /// None: a coefficient does not fit.
  static std::optional<Polynomial> difference(const Polynomial& a, const Polynomial& b) {
    const auto minus = Polynomial::checked_multiply(b, -1);
    return minus ? Polynomial::checked_add(a, *minus) : std::nullopt;
  }

  Result<std::string> parse_relation() {
    if (tokens_.at("!") && tokens_.peek(1).text == "=") {
      tokens_.next();
      tokens_.next();
      return std::string("!=");
    }
    std::string relation;
    for (const std::string_view sign : {"<", ">", "="})
      if ((relation.empty() || sign == "=") && tokens_.accept(sign)) relation += sign;
    if (relation.empty()) return tokens_.expected("`=`, `!=`, `<`, `<=`, `>` or `>=`");
    return relation;
  }

  /// False: a number does not fit.
  bool add_condition(const Polynomial& left, std::string relation, const Polynomial& right) {
    const auto above = difference(left, right), below = difference(right, left);
    if (!above || !below) return false;
    if (relation == "!=" && above->is_constant()) {
      left_out_ = left_out_ || *above == Polynomial(0);
      return true;
    }
    if (relation == "!=") relation = next_case(left, right);
    const Polynomial& wanted = relation[0] == '<' ? *below : *above;
    const bool strict = relation == "<" || relation == ">";
    const auto bound = Polynomial::checked_add(wanted, strict ? -1 : 0);
    if (!bound) return false;
    add_condition(
        relation == "=" ? SizeConstraint::Kind::kZero : SizeConstraint::Kind::kNonNegative, *bound);
    return true;
  }

  /// The meaning of `!=` on symbols in this case: `<` or `>`.
  std::string next_case(const Polynomial& left, const Polynomial& right) {
    if (case_ == cases_.size()) cases_.push_back(false);
    std::string relation = cases_[case_++] ? ">" : "<";
    std::string text = left.to_string(symbols_) + relation + right.to_string(symbols_);
    std::erase(text, ' ');
    cases_text_ += (cases_text_.empty() ? "" : ",") + text;
    return relation;
  }

  void add_condition(SizeConstraint::Kind kind, const Polynomial& p) {
    if (!p.is_constant()) {
      rule_.guard.push_back({kind, p, std::string(kStatedLabel)});
    } else if (kind == SizeConstraint::Kind::kZero ? p.constant() != 0 : p.constant() < 0) {
      left_out_ = true;
    }
  }

  /// `choose p in 1..n - 1`; spaces stand around the dots by now (expand.h).
  Status parse_choice() {
    tokens_.next();
    const Token at = tokens_.peek();
    if (at.kind != core::TokenKind::kIdentifier && at.kind != core::TokenKind::kSymbol)
      return tokens_.expected("the size that may be chosen");
    const core::Symbol chosen = symbols_.intern(tokens_.next().text);
    chosen_.emplace_back(chosen, at);
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("in"));
    SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial low, core::parse_polynomial(tokens_, symbols_));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("."));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("."));
    SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial high, core::parse_polynomial(tokens_, symbols_));
    if (!difference(Polynomial(chosen), low) || !difference(high, Polynomial(chosen)))
      return too_large(at);
    std::ranges::move(conditions_of({chosen, low, high}), std::back_inserter(rule_.guard));
    return core::Done{};
  }

  Status parse_results() {
    tokens_.next();
    if (!declared_) declared_.emplace();
    do {
      NameSyntax name{{}, tokens_.peek()};
      SOAPSTONE_ASSIGN_OR_RETURN(name.name, tokens_.expect_name("the name of a result"));
      declared_->push_back(std::move(name));
    } while (tokens_.accept(","));
    return core::Done{};
  }

  Status parse_declaration() {
    const Token at = tokens_.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(auto statement, core::parse_statement(tokens_, symbols_));
    if (auto* input = std::get_if<core::InputSyntax>(&statement)) return add_input(*input);
    if (auto* constant = std::get_if<core::ConstantSyntax>(&statement))
      return add_constant(*constant);
    return error(at, "an operator before `source`",
                 "what the rule matches begins with the line `source`");
  }

  Status add_input(const core::InputSyntax& input) {
    if (!input.type.shape_known)
      return error(input.name.at, "an input of a rule needs a shape", "`x: [n, m]`");
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
      return error(constant.name.at, "a constant of a rule needs sizes and values in numbers",
                   "`c: [2] = {0.5, -1}`; `full(; shape=[n], value=0.5)` has any size");
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

  /// Results are the names that both sides define, in the order of the source; or, of these, those
  /// that are declared.
  Status finish_sides() {
    SOAPSTONE_RETURN_IF_ERROR(declared_ ? check_declared_results() : refuse_ambiguous_names());
    std::vector<TensorId> outputs, target_outputs;
    for (const NameSyntax& name : source_.results()) {
      if (!target_.is_result(name.name) || !is_declared(name.name)) continue;
      outputs.push_back(source_.tensor(name.name));
      target_outputs.push_back(target_.tensor(name.name));
      source_.mark_read(outputs.back());
      target_.mark_read(target_outputs.back());
    }
    if (outputs.empty())
      return error(tokens_.peek(), "both sides must define the results by one name",
                   "a name such as `y` that source and target define is a result");
    SOAPSTONE_RETURN_IF_ERROR(refuse_useless());
    source_.builder.set_outputs(std::move(outputs));
    target_.builder.set_outputs(std::move(target_outputs));
    return core::Done{};
  }

  bool is_declared(const std::string& name) const {
    return !declared_ || std::ranges::find(*declared_, name, &NameSyntax::name) != declared_->end();
  }

  Status check_declared_results() const {
    for (const NameSyntax& name : *declared_)
      for (const RuleSide* side : {&source_, &target_})
        if (!side->is_result(name.name))
          return error(name.at, "`" + name.name + "` is a result, but the " +
                                    (side == &source_ ? "source" : "target") +
                                    " does not compute it");
    return core::Done{};
  }

  /// A name that both sides define and a node reads may be a result that is read, too; mostly it is
  /// one word for two things.
  Status refuse_ambiguous_names() const {
    for (const NameSyntax& name : target_.results()) {
      const bool by_source = source_.is_read_by_node(name.name);
      if (!source_.is_result(name.name) || (!by_source && !target_.is_read_by_node(name.name)))
        continue;
      return error(name.at,
                   "`" + name.name + "` is defined on both sides, and the " +
                       (by_source ? "source" : "target") + " reads it: is it a result?",
                   "if so, name all results before `source`: `results " + name.name +
                       ", …`; if not, give it another name in the target");
    }
    return core::Done{};
  }

  Status refuse_useless() const {
    for (const NameSyntax& name : source_.results())
      if (!source_.is_of_use(source_.tensor(name.name)))
        return error(name.at, "the target does not define the result `" + name.name + "`",
                     "nothing in the source reads it, so others may; define it in the target, or "
                     "take it out of the source");
    for (const NameSyntax& name : target_.results())
      if (!target_.is_of_use(target_.tensor(name.name)))
        return error(name.at, "`" + name.name + "` is neither read nor a result of the source",
                     "give it the name of a result, or take it out");
    for (const NameSyntax& input : inputs_)
      if (!source_.is_read(source_.tensor(input.name)))
        return error(
            input.at, "the source does not read `" + input.name + "`",
            "an input is found where the source reads it; a constant has a value: `c: [] = "
            "{1}`");
    return core::Done{};
  }

  /// A size that the source determines cannot be chosen as well.
  Status refuse_determined_choices() const {
    std::vector<core::Symbol> determined = attribute_symbols(rule_.source);
    for (const TensorId id : rule_.source.inputs())
      for (const core::Size& size : rule_.source.tensor(id).type.shape)
        std::ranges::copy(size.symbols(), std::back_inserter(determined));
    for (const auto& [symbol, at] : chosen_)
      if (std::ranges::find(determined, symbol) != determined.end())
        return error(at, "`" + at.text + "` cannot be chosen: the source determines it",
                     "a condition on it is a `where` clause");
    return core::Done{};
  }

  Result<std::optional<Rule>> finish_rule() {
    for (RuleSide* side : {&source_, &target_}) side->builder.symbols() = symbols_;
    SOAPSTONE_ASSIGN_OR_RETURN(rule_.source, std::move(source_.builder).finish());
    SOAPSTONE_ASSIGN_OR_RETURN(rule_.target, std::move(target_.builder).finish());
    SOAPSTONE_RETURN_IF_ERROR(refuse_determined_choices());
    TypingFailure failure;
    auto rule = complete(std::move(rule_), &failure, purpose_);
    if (rule) return std::optional(*std::move(rule));
    if (!failure.node.valid()) return rule.error();
    const RuleSide& side = failure.in_source ? source_ : target_;
    return error(side.operator_at(failure.node), rule.error().message, rule.error().hint);
  }

  TokenStream tokens_;
  Purpose purpose_;
  std::vector<bool> cases_;
  std::size_t case_ = 0;  ///< How many were met.
  std::string cases_text_;
  core::SymbolTable symbols_;
  Rule rule_;
  bool left_out_ = false;
  std::vector<NameSyntax> inputs_;
  std::optional<std::vector<NameSyntax>> declared_;  ///< Results.
  std::vector<std::pair<core::Symbol, Token>> chosen_;
  RuleSide source_{false}, target_{true};
};

}  // namespace

Result<std::vector<ParsedInstance>> parse_instance(const std::string& text, Purpose purpose) {
  std::vector<ParsedInstance> instances;
  std::vector<bool> cases;
  do {
    InstanceParser parser(text, purpose, std::move(cases));
    SOAPSTONE_ASSIGN_OR_RETURN(auto rule, parser.run());
    if (parser.cases().size() > kMostCases)
      return core::invalid_input("a rule has more than " + std::to_string(kMostCases) +
                                     " conditions with `!=`",
                                 "each makes two rules of one; write several rules");
    if (rule) instances.push_back({parser.cases_text(), *std::move(rule)});
    // The next case: the last `<` becomes `>`, what follows it begins anew.
    cases = parser.cases();
    while (!cases.empty() && cases.back()) cases.pop_back();
    if (!cases.empty()) cases.back() = true;
  } while (!cases.empty());
  return instances;
}

}  // namespace soapstone::rules
