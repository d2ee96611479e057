// See lift.h. An operator that names no dimension works along none (elementwise) or along its last
// ones (matmul); `axis` and `axes` name some, `full` and `eye` have the shape of what they meet.
// Windows fix the rank, but not which of the two dimensions before theirs is the one. All else
// fixes the rank.
#include "generator/generalization/lift.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "generator/generalization/printed_attributes.h"

namespace soapstone::generator {
namespace {

using core::Graph;
using core::Polynomial;
using core::Shape;

/// The most dimensions that tensors get.
constexpr std::size_t kMostRank = 4;

/// The two dimensions of a window, and of an image.
constexpr std::size_t kWindow = 2, kImage = 4;

/// Constants of any shape.
bool is_filled(const core::Node& node) {
  return node.op->movement == core::Movement::kFill ||
         node.op->movement == core::Movement::kDiagonal;
}
bool is_windowed(const core::Node& node) {
  return node.op->find_role(core::AttributeRole::kWindow) != nullptr;
}

/// Attributes that say which dimensions, or how large, besides `axis`.
bool fixes_rank(const core::Node& node) {
  using enum core::AttributeRole;
  static constexpr std::array kFixing{kPermutation, kShape,  kPad,   kBorder,
                                      kWindow,      kStride, kGroup, kRatio};
  return !is_filled(node) && !is_windowed(node) &&
         std::ranges::any_of(kFixing, [&](core::AttributeRole role) {
           return node.op->find_role(role) != nullptr;
         });
}

/// How many dimensions of the largest tensors are left open.
struct Open {
  std::size_t leading = 0;
  std::optional<std::size_t> trailing;  ///< None: there is no `B..`.
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lifter {
 public:
  Lifter(const rules::Rule& rule, std::span<const InputShapes> choices)
      : rule_(rule), choices_(choices) {
    for (core::TensorId id : rule.source.inputs())
      shapes_.push_back(rule.source.tensor(id).type.shape);
    note(rule.source);
    note(rule.target);
    is_fixed_ |= !rule.guard.empty() || (!rule.parameters.empty() && !has_windows_);
    for (const Shape& shape : shapes_) rank_ = std::max(rank_, shape.size());
    is_fixed_ |= rank_ > kMostRank;
    is_fixed_ |= has_windows_ && (rank_ != kImage || axes_.empty());
    has_eye_ =
        has_any([](const core::OpSchema& op) { return op.movement == core::Movement::kDiagonal; });
    multiplies_ = has_any(
        [](const core::OpSchema& op) { return op.has_operand(core::OperandRole::kLeftMatrix); });
    // A diagonal is one of the first two dimensions.
    is_fixed_ |= has_eye_ && (!axes_.empty() || multiplies_);
    is_fixed_ |= std::ranges::any_of(axes_, [&](std::size_t axis) { return axis >= rank_; });
  }

  std::vector<std::string> run() const {
    std::vector<std::string> texts = open_texts();
    if (!choices_.empty()) texts.push_back(text(std::nullopt));
    return texts;
  }

 private:
  std::vector<std::string> open_texts() const {
    if (is_fixed_) return {};
    std::vector<Open> ways;
    if (has_windows_) {
      if (axes_are_before_windows()) ways.push_back({axes_[0], 1 - axes_[0]});
    } else if (axes_.empty()) {
      ways.push_back({common(rank_, true), std::nullopt});
    } else {
      const std::size_t leading = common(*std::ranges::min_element(axes_), true);
      ways.push_back({leading, common(rank_ - 1 - *std::ranges::max_element(axes_), false)});
      ways.push_back({leading, std::nullopt});
    }
    std::vector<std::string> texts;
    for (const Open& open : ways)
      if (has_windows_ || middle(open) < kMostRank) texts.push_back(text(open));
    return texts;
  }

  void note(const Graph& side) {
    for (core::NodeId id : side.order()) {
      const core::Node& node = side.node(id);
      is_fixed_ |= fixes_rank(node);
      has_windows_ |= is_windowed(node);
      for (const core::AttributeSchema& schema : node.op->attributes) {
        if (is_filled(node) && schema.role == core::AttributeRole::kShape)
          shapes_.push_back(node.attributes.get_sizes(schema.name));
        if (schema.role == core::AttributeRole::kAxis)
          note_axis(node.attributes.get_size(schema.name));
        if (schema.role == core::AttributeRole::kAxes)
          for (const Polynomial& axis : node.attributes.get_sizes(schema.name)) note_axis(axis);
      }
    }
  }

  void note_axis(const Polynomial& axis) {
    const bool known = axis.is_constant() && axis.constant() >= 0;
    is_fixed_ |= !known;
    if (known) axes_.push_back(static_cast<std::size_t>(axis.constant()));
  }

  bool is_largest(const Shape& shape) const { return shape.size() == rank_; }
  std::size_t middle(const Open& open) const {
    return rank_ - open.leading - open.trailing.value_or(0);
  }

  /// How many dimensions, up to `most`, all largest tensors have in common and no other has.
  std::size_t common(std::size_t most, bool leading) const {
    std::size_t count = 0;
    while (count < most && is_common(leading ? count : rank_ - 1 - count)) ++count;
    return count;
  }

  bool is_common(std::size_t d) const {
    const Shape& first =
        *std::ranges::find_if(shapes_, [&](const Shape& s) { return is_largest(s); });
    const std::vector<core::Symbol> symbols = first[d].symbols();
    if (symbols.size() != 1 || first[d] != Polynomial(symbols[0])) return false;
    const bool everywhere = std::ranges::all_of(
        shapes_, [&](const Shape& s) { return !is_largest(s) || s[d] == first[d]; });
    return everywhere && !occurs_elsewhere(symbols[0], d);
  }

  bool occurs_elsewhere(core::Symbol symbol, std::size_t dimension) const {
    for (const Shape& shape : shapes_)
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d].mentions(symbol) && !(is_largest(shape) && d == dimension)) return true;
    for (const InputShapes& choice : choices_)
      for (const Shape& shape : choice)
        if (!is_largest(shape) && std::ranges::any_of(shape, [&](const core::Size& size) {
              return size.mentions(symbol);
            }))
          return true;
    return false;
  }

  /// Whether the choices differ in the shape of that input.
  bool varies(std::size_t input) const {
    return std::ranges::any_of(
        choices_, [&](const InputShapes& choice) { return choice[input] != choices_[0][input]; });
  }

  /// All along one of the dimensions before the windows, and the other is the same everywhere.
  bool axes_are_before_windows() const {
    const std::size_t axis = axes_[0];
    if (axis >= kImage - kWindow) return false;
    if (std::ranges::any_of(axes_, [&](std::size_t a) { return a != axis; })) return false;
    return std::ranges::all_of(shapes_,
                               [&](const Shape& s) { return is_largest(s) || s.empty(); }) &&
           is_common(1 - axis);
  }

  template <class Is>
  bool has_any(Is is) const {
    return std::ranges::any_of(std::array{&rule_.source, &rule_.target}, [&](const Graph* side) {
      return std::ranges::any_of(side->order(),
                                 [&](core::NodeId id) { return is(*side->node(id).op); });
    });
  }

  std::string text(const Shape& shape, const std::optional<Open>& open) const {
    std::vector<std::string> sizes;
    const auto add = [&](std::size_t begin, std::size_t end) {
      for (std::size_t d = begin; d < end; ++d)
        sizes.push_back(core::to_string(core::AttributeValue(shape[d]), rule_.source.symbols()));
    };
    if (!open || !is_largest(shape)) {
      add(0, shape.size());
    } else {
      const std::size_t behind = has_windows_ ? kWindow : 0;
      const std::size_t end = rank_ - behind - open->trailing.value_or(0);
      sizes.emplace_back("A..");
      add(open->leading, end);
      if (open->trailing) sizes.emplace_back("B..");
      add(rank_ - behind, rank_);
    }
    return fmt::format("[{}]", fmt::join(sizes, ", "));
  }

  /// None: ranks are as they are.
  std::string text(const std::optional<Open>& open) const {
    std::istringstream lines(rules::print(rule_));
    std::string result, line;
    std::size_t shape = 0;
    while (std::getline(lines, line)) {
      if (line.starts_with("  symbols ")) continue;
      if (line == "  source" && open) result += condition(*open);
      // Inputs, and the shapes of `full`, follow each other as in `shapes_`.
      const std::size_t input = line.find(": [");
      const Given full = given(line, core::AttributeRole::kShape);
      if (shape < rule_.source.inputs().size() && input != std::string::npos) {
        line = line.substr(0, input) + ": " +
               (varies(shape) ? variable(shape) : text(shapes_[shape], open));
        ++shape;
      } else if (full && open) {
        line.replace(full.begin, full.size, text(shapes_[shape++], open));
      }
      result += (open ? with_lifted_axis(line, *open) : line) + "\n";
      if (line.starts_with("rule ")) result += (open ? ranges(*open) : "") + loop(open);
    }
    return result;
  }

  /// The `where` of the ranks.
  std::string condition(const Open& open) const {
    if (has_windows_) return fmt::format("  where |A| + |B| = {}\n", kImage - kWindow - 1);
    if (open.trailing) return fmt::format("  where |A| + |B| <= {}\n", kMostRank - middle(open));
    return {};
  }

  static std::string variable(std::size_t input) { return fmt::format("S{}", input + 1); }

  /// `  for (S1, S2) in {([n], []), ([], [n])}`
  std::string loop(const std::optional<Open>& open) const {
    std::vector<std::string> variables, values;
    for (std::size_t k = 0; !choices_.empty() && k < choices_[0].size(); ++k)
      if (varies(k)) variables.push_back(variable(k));
    if (variables.empty()) return {};
    const auto tuple = [](const std::vector<std::string>& parts) {
      return parts.size() == 1 ? parts[0] : fmt::format("({})", fmt::join(parts, ", "));
    };
    for (const InputShapes& choice : choices_) {
      std::vector<std::string> shapes;
      for (std::size_t k = 0; k < choice.size(); ++k)
        if (varies(k)) shapes.push_back(text(choice[k], open));
      values.push_back(tuple(shapes));
    }
    return fmt::format("  for {} in {{{}}}\n", tuple(variables), fmt::join(values, ", "));
  }

  std::string ranges(const Open& open) const {
    const std::size_t most = has_windows_ ? kImage - kWindow - 1 : kMostRank - middle(open);
    std::string text = fmt::format("  for A in ranks({}..{})\n", least_leading(open), most);
    if (open.trailing) text += fmt::format("  for B in ranks(0..{})\n", most);
    return text;
  }
  /// A matmul's left side keeps its rows, and no constant with a diagonal is a vector.
  std::size_t least_leading(const Open& open) const {
    const bool is_matrix = multiplies_ || has_eye_;
    return is_matrix && middle(open) < 2 ? 2 - middle(open) : 0;
  }

  /// The axes that the line's operator works along, counted from behind `A..`.
  static std::string with_lifted_axis(std::string line, const Open& open) {
    for (const auto role : {core::AttributeRole::kAxis, core::AttributeRole::kAxes}) {
      const Given axes = given(line, role);
      if (!axes) continue;
      std::string lifted;
      for (std::size_t at = axes.begin; at < axes.begin + axes.size; ++at) {
        if (!is_digit(line[at])) {
          lifted += line[at];
          continue;
        }
        std::size_t digits = 1;
        while (is_digit(line[at + digits])) ++digits;
        const std::size_t axis = std::stoul(line.substr(at, digits));
        lifted += axis == open.leading ? "|A|" : fmt::format("|A|+{}", axis - open.leading);
        at += digits - 1;
      }
      line.replace(axes.begin, axes.size, lifted);
    }
    return line;
  }

  const rules::Rule& rule_;
  std::span<const InputShapes> choices_;
  std::vector<Shape> shapes_;  ///< The inputs' shapes, then those of each `full`.
  std::vector<std::size_t> axes_;
  std::size_t rank_ = 0;
  bool is_fixed_ = false, has_windows_ = false, has_eye_ = false, multiplies_ = false;
};

}  // namespace

std::vector<std::string> lifted_texts(const rules::Rule& rule,
                                      std::span<const InputShapes> choices) {
  return Lifter(rule, choices).run();
}

bool lifts_windows(const Graph& side) {
  const auto is_one = [&](core::NodeId id) { return is_windowed(side.node(id)); };
  const auto fixes = [&](core::NodeId id) { return fixes_rank(side.node(id)); };
  return std::ranges::any_of(side.order(), is_one) && std::ranges::none_of(side.order(), fixes);
}

}  // namespace soapstone::generator
