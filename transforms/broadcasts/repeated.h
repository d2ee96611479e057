// A tensor that repeats a smaller one: all of it along some axes, chosen rows of it along others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/views/side_text.h"
#include "transforms/views/size_names.h"

namespace soapstone::transforms {

/// How an axis repeats what the base has there.
struct Repetition {
  core::TensorId indices = core::TensorId::none();  ///< Of the base's rows; none: its only one.
  bool operator==(const Repetition&) const = default;
};

/// A tensor as repetitions of its base, which has as many axes.
struct Repeated {
  Sizes shape, base_shape;
  std::vector<std::optional<Repetition>> axes;  ///< By axis; none: as in the base.
  std::size_t base = 0;                         ///< Its number: equal for equal ones.

  /// The tensor itself.
  static Repeated plain(const Sizes& shape, std::size_t base);
  bool is_plain() const;
  std::string base_name() const { return "x" + std::to_string(base); }
};

/// The text of one rule about repetitions.
class RepetitionText {
 public:
  RepetitionText(const core::Graph& graph, SizeNames sizes)
      : graph_(graph), sizes_(std::move(sizes)) {}

  const SizeNames& sizes() const { return sizes_; }
  std::string input(const std::string& name, const core::TensorType& type, const Sizes& shape);
  /// The base as the tensor is, but for axes that are `left_out`: there it stays as it is.
  std::string repeated(SideText& side, const Repeated& tensor, const std::string& base,
                       const std::vector<bool>& left_out = {});
  /// Of a node with the sizes of its result as its attribute says them.
  std::string call(const core::Node& node, const Names& operands, const Sizes& result) const;

  SideText& source() { return source_; }
  SideText& target() { return target_; }
  std::string finished(std::string_view name, const Names& source, const Names& target) const {
    return rule_text(name, head_, source_, source, target_, target);
  }

 private:
  const core::Graph& graph_;
  SizeNames sizes_;
  std::string head_;
  SideText source_, target_;
};

/// The shape of a tensor that is whole but along axes that are `left_out`.
Sizes shape_without(const Repeated& tensor, const std::vector<bool>& left_out);

}  // namespace soapstone::transforms
