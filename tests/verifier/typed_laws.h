// Random rules about integers, casts, comparisons and gathers: an expression, and the same after a
// few laws of real numbers, of which many do not hold for integers that wrap and casts that round.
#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "rules/sampling/sample.h"

namespace soapstone::verifier {

struct TypedNode;
using TypedNodePtr = std::shared_ptr<const TypedNode>;

/// An operator on vectors of one length, or an input: `op` is its name then, and empty `inputs`.
struct TypedNode {
  std::string op, type;
  std::vector<TypedNodePtr> inputs;
};

class TypedLaws {
 public:
  explicit TypedLaws(std::uint64_t seed) : random_(seed) {}

  /// The text of a rule. It may have no types, or say nothing: then the parser refuses it.
  std::string next() {
    const TypedNodePtr source = expression(pick(kResults), 3);
    leaves_.clear();
    collect_leaves(source);
    TypedNodePtr target = source;
    for (auto k = random_.between(1, 3); k > 0; --k) target = rewritten(target);
    std::string inputs;
    for (const TypedNodePtr& leaf : leaves_)
      inputs += fmt::format(" {}: {}[{}]", leaf->op, leaf->type, leaf->op[0] == 't' ? "m" : "n");
    return fmt::format("rule law\n {}\n  source\n{}  target\n{}", inputs, lines(source, 'u'),
                       lines(target, 'v'));
  }

 private:
  static constexpr std::array<const char*, 6> kResults = {"i64",  "i32", "bool",
                                                          "bool", "f32", "i64"};
  static constexpr std::array<const char*, 6> kFrom = {"i64", "i32", "i8", "u8", "bool", "f32"};

  template <class List>
  std::string pick(const List& list) {
    return std::string(list[random_.next() % list.size()]);
  }
  bool one_in(std::uint64_t n) { return random_.next() % n == 0; }

  static TypedNodePtr make(std::string op, std::string type,
                           std::vector<TypedNodePtr> inputs = {}) {
    return std::make_shared<const TypedNode>(
        TypedNode{std::move(op), std::move(type), std::move(inputs)});
  }
  static bool is_arithmetic(const std::string& type) {
    return type == "i64" || type == "i32" || type[0] == 'f';
  }

  TypedNodePtr leaf(const std::string& type) {
    return make(fmt::format("x{}{}", type, random_.between(0, 1)), type);
  }

  TypedNodePtr expression(const std::string& type, int depth) {
    if (depth == 0 || one_in(6)) return leaf(type);
    const auto sub = [&](const std::string& t) { return expression(t, depth - 1); };
    if (one_in(9) && type != "bool") {
      const TypedNodePtr table = make(fmt::format("t{}{}", type, random_.between(0, 1)), type);
      return make("gather", type, {table, make("g", "i64")});
    }
    if (one_in(8)) return make("where", type, {sub("bool"), sub(type), sub(type)});
    if (type == "bool") {
      const std::string of = pick(kFrom);
      switch (random_.next() % 5) {
      case 0:
        return make("not", type, {sub(type)});
      case 1:
        return make(one_in(2) ? "max" : "min", type, {sub(type), sub(type)});
      default:
        return make(one_in(3) ? "equal" : "less", type, {sub(of), sub(of)});
      }
    }
    if (!is_arithmetic(type)) return make(one_in(2) ? "max" : "min", type, {sub(type), sub(type)});
    if (one_in(4)) {
      const std::string from = pick(kFrom);
      if (from != type) return make("cast", type, {sub(from)});
    }
    constexpr std::array kBinary = {"add", "sub", "mul", "max", "min", "add"};
    constexpr std::array kUnary = {"neg", "abs", "relu"};
    if (one_in(3)) return make(pick(kUnary), type, {sub(type)});
    return make(pick(kBinary), type, {sub(type), sub(type)});
  }

  void collect_leaves(const TypedNodePtr& node) {
    for (const TypedNodePtr& input : node->inputs) collect_leaves(input);
    if (!node->inputs.empty()) return;
    for (const TypedNodePtr& known : leaves_)
      if (known->op == node->op) return;
    leaves_.push_back(node);
  }

  TypedNodePtr known_leaf(const std::string& type) {
    std::vector<TypedNodePtr> fit;
    for (const TypedNodePtr& each : leaves_)
      if (each->type == type && each->op[0] == 'x') fit.push_back(each);
    return fit.empty() ? nullptr : fit[random_.next() % fit.size()];
  }

  /// A law somewhere in the expression.
  TypedNodePtr rewritten(const TypedNodePtr& node) {
    if (!node->inputs.empty() && !one_in(3)) {
      const std::size_t k = random_.next() % node->inputs.size();
      auto inputs = node->inputs;
      inputs[k] = rewritten(inputs[k]);
      if (inputs[k] != node->inputs[k]) return make(node->op, node->type, std::move(inputs));
    }
    for (int attempt = 0; attempt < 8; ++attempt)
      if (TypedNodePtr other = law(*node)) return other;
    return node;
  }

  TypedNodePtr law(const TypedNode& n) {
    const auto& in = n.inputs;
    const auto is = [&](const TypedNodePtr& x, const char* op) { return x->op == op; };
    switch (random_.next() % 16) {
    case 0:  // commutes
      if (n.op == "add" || n.op == "mul" || n.op == "max" || n.op == "min" || n.op == "equal")
        return make(n.op, n.type, {in[1], in[0]});
      break;
    case 1:  // associates
      if ((n.op == "add" || n.op == "mul" || n.op == "max" || n.op == "min") && in[0]->op == n.op)
        return make(n.op, n.type,
                    {in[0]->inputs[0], make(n.op, n.type, {in[0]->inputs[1], in[1]})});
      break;
    case 2:  // distributes
      for (const char* inner : {"add", "sub", "max", "min"})
        if ((n.op == "mul" || n.op == "add") && is(in[0], inner))
          return make(inner, n.type,
                      {make(n.op, n.type, {in[0]->inputs[0], in[1]}),
                       make(n.op, n.type, {in[0]->inputs[1], in[1]})});
      break;
    case 3:
      if (n.op == "sub") return make("add", n.type, {in[0], make("neg", n.type, {in[1]})});
      break;
    case 4:
      if (n.op == "neg" && is(in[0], "neg")) return in[0]->inputs[0];
      if (n.op == "abs" && (is(in[0], "abs") || is(in[0], "neg")))
        return make("abs", n.type, {in[0]->inputs[0]});
      if (n.op == "relu" && (is(in[0], "abs") || is(in[0], "relu"))) return in[0];
      break;
    case 5:
      if (n.op == "abs") return make("max", n.type, {in[0], make("neg", n.type, {in[0]})});
      break;
    case 6:  // the same added to both
      if ((n.op == "less" || n.op == "equal") && is_arithmetic(in[0]->type))
        if (const TypedNodePtr c = known_leaf(in[0]->type))
          return make(n.op, n.type,
                      {make("add", c->type, {in[0], c}), make("add", c->type, {in[1], c})});
      break;
    case 7:  // the same taken from both
      if ((n.op == "less" || n.op == "equal") && is(in[0], "add") && is(in[1], "add"))
        return make(n.op, n.type, {in[0]->inputs[0], in[1]->inputs[0]});
      if (n.op == "less" && is_arithmetic(in[0]->type))
        return make(n.op, n.type,
                    {make("neg", in[0]->type, {in[1]}), make("neg", in[0]->type, {in[0]})});
      break;
    case 8:  // by the sign of a difference
      if ((n.op == "less" || n.op == "equal") && is_arithmetic(in[0]->type)) {
        const std::string& t = in[0]->type;
        return make(n.op, n.type, {make("sub", t, {in[0], in[1]}), make("sub", t, {in[0], in[0]})});
      }
      break;
    case 9:  // a cast of a cast
      if (n.op == "cast" && is(in[0], "cast")) {
        const TypedNodePtr& x = in[0]->inputs[0];
        return x->type == n.type ? x : make("cast", n.type, {x});
      }
      break;
    case 10:  // a cast of an operation
      if (n.op == "cast" && !in[0]->inputs.empty() && is_arithmetic(n.type) &&
          (is_arithmetic(in[0]->type) || is(in[0], "max") || is(in[0], "min")) &&
          in[0]->op != "cast" && in[0]->op != "gather" && in[0]->op != "where") {
        std::vector<TypedNodePtr> parts;
        for (const TypedNodePtr& x : in[0]->inputs) parts.push_back(make("cast", n.type, {x}));
        return make(in[0]->op, n.type, std::move(parts));
      }
      break;
    case 11:  // there and back
      if (n.type == "i64" || n.type == "i32" || n.type == "f32") {
        constexpr std::array kThrough = {"i64", "i32", "f32", "f64"};
        const std::string through = pick(kThrough);
        if (through != n.type)
          return make("cast", n.type,
                      {make("cast", through, {std::make_shared<const TypedNode>(n)})});
      }
      break;
    case 12:  // a choice inside or outside
      if (n.op == "where" && in[1]->op == in[2]->op && in[1]->inputs.size() == 1 &&
          in[1]->inputs[0]->type == in[2]->inputs[0]->type)
        return make(
            in[1]->op, n.type,
            {make("where", in[1]->inputs[0]->type, {in[0], in[1]->inputs[0], in[2]->inputs[0]})});
      if (n.inputs.size() == 1 && is(in[0], "where") && n.op != "not")
        return make("where", n.type,
                    {in[0]->inputs[0],
                     n.op == "cast" ? make("cast", n.type, {in[0]->inputs[1]})
                                    : make(n.op, n.type, {in[0]->inputs[1]}),
                     make(n.op, n.type, {in[0]->inputs[2]})});
      break;
    case 13:  // a function of what is looked up
      if (n.inputs.size() == 1 && is(in[0], "gather"))
        return make("gather", n.type, {make(n.op, n.type, {in[0]->inputs[0]}), in[0]->inputs[1]});
      if (n.op == "gather" && in[0]->inputs.size() == 1)
        return make(in[0]->op, n.type,
                    {make("gather", in[0]->inputs[0]->type, {in[0]->inputs[0], in[1]})});
      break;
    case 14:  // there and back again; of floats this rounds before a step, which a label tells
      if (is_arithmetic(n.type) && n.type[0] == 'i')
        if (const TypedNodePtr c = known_leaf(n.type))
          return make("sub", n.type,
                      {make("add", n.type, {std::make_shared<const TypedNode>(n), c}), c});
      break;
    case 15:
      if (n.op == "not" && is(in[0], "less"))
        return make("max", n.type,
                    {make("less", n.type, {in[0]->inputs[1], in[0]->inputs[0]}),
                     make("equal", n.type, in[0]->inputs)});
      if (n.op == "add" && is(in[0], "max") && is(in[1], "min"))
        return make("add", n.type, {in[0]->inputs[0], in[1]->inputs[1]});
      break;
    }
    return nullptr;
  }

  /// A line for each operator, the last of which is called y.
  std::string lines(const TypedNodePtr& root, char prefix) {
    std::string text;
    int next = 0;
    const auto result = name(root, true, prefix, next, text);
    if (root->inputs.empty()) text += fmt::format("    y = {}\n", result);
    return text;
  }

  static std::string name(const TypedNodePtr& node, bool is_root, char prefix, int& next,
                          std::string& text) {
    if (node->inputs.empty()) return node->op;
    std::string arguments;
    for (const TypedNodePtr& input : node->inputs)
      arguments += (arguments.empty() ? "" : ", ") + name(input, false, prefix, next, text);
    if (node->op == "cast") arguments += fmt::format("; to=\"{}\"", node->type);
    if (node->op == "gather") arguments += "; axis=0";
    std::string result = is_root ? "y" : fmt::format("{}{}", prefix, next++);
    text += fmt::format("    {} = {}({})\n", result, node->op, arguments);
    return result;
  }

  rules::Random random_;
  std::vector<TypedNodePtr> leaves_;
};

}  // namespace soapstone::verifier
