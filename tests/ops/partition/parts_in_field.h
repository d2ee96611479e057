// Runs the parts of a node in the prime field 2^61 − 1 and puts their results together, to compare
// them with the whole: equal means equal in every digit.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ops/evaluation/field.h"
#include "ops/restriction/restrict.h"
#include "tests/ops/partition/one_node.h"

namespace soapstone::ops::test {

using FieldValues = std::vector<Field::Value>;

/// Row-major positions of the elements of a region.
inline std::vector<std::size_t> positions_in(const DigitRegion& region) {
  const Dims dims = region.tensor_dims();
  std::vector<std::size_t> all;
  if (!region.is_empty()) all.push_back(0);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::vector<std::size_t> finer;
    for (std::size_t p : all)
      for (const Interval& piece : region.intervals(d))
        for (std::int64_t i = piece.low; i < piece.high; ++i)
          finer.push_back(p * static_cast<std::size_t>(dims[d]) + static_cast<std::size_t>(i));
    all = std::move(finer);
  }
  return all;
}

/// Field elements; integers `lowest` … `highest` for integer types.
inline FieldValues field_values(const core::TensorType& type, std::mt19937_64& random,
                                std::int64_t lowest = 0, std::int64_t highest = 1) {
  FieldValues values(count_of(type));
  std::uniform_int_distribution<std::int64_t> integer(lowest, highest);
  for (Field::Value& v : values)
    v = core::is_floating(type.data_type) ? random() % Field::kPrime
                                          : field::from_int(integer(random));
  return values;
}

inline void join(Joined joined, Field::Value part, std::optional<Field::Value>& whole) {
  const auto larger = [](Field::Value a, Field::Value b) {
    return field::to_signed(a) < field::to_signed(b) ? b : a;
  };
  if (!whole)
    whole = part;
  else if (joined == Joined::kSum)
    whole = field::add(*whole, part);
  else if (joined == Joined::kMax)
    whole = larger(*whole, part);
  else if (joined == Joined::kMin)
    whole = larger(*whole, part) == *whole ? part : *whole;
  else
    ADD_FAILURE() << "two parts give one element";
}

/// What became of a cut.
enum class Outcome : std::uint8_t { kEqual, kUnequal, kRefused, kJoinsBetween };

/// A loop, and the intervals that it is cut into.
struct LoopCut {
  std::size_t loop;
  std::vector<Interval> parts;
};

/// Every choice of a part of each cut.
inline std::vector<PartBox> boxes_of(const PartitionSpace& space,
                                     const std::vector<LoopCut>& cuts) {
  std::vector<PartBox> boxes{whole_box(space)};
  for (const LoopCut& cut : cuts) {
    std::vector<PartBox> finer;
    for (const PartBox& box : boxes)
      for (const Interval& values : cut.parts) {
        finer.push_back(box);
        finer.back()[cut.loop] = values;
      }
    boxes = std::move(finer);
  }
  return boxes;
}

/// What the results of parts come to where they give the same element.
inline Joined joined_by(const PartitionSpace& space, const std::vector<LoopCut>& cuts,
                        std::size_t output) {
  for (const LoopCut& cut : cuts)
    if (const Joined joined = space.loops[cut.loop].joined[output]; joined != Joined::kIndex)
      return joined;
  return Joined::kIndex;
}

using JoinedValues = std::vector<std::vector<std::optional<Field::Value>>>;

/// Runs a part and adds its results. Returns what is wrong, or nothing.
inline std::string run_part(const Part& part, const std::vector<FieldValues>& inputs,
                            const std::vector<Joined>& joined, JoinedValues& whole) {
  std::vector<FieldValues> pieces;
  for (std::size_t k : part.inputs) {
    pieces.emplace_back();
    for (std::size_t p : positions_in(part.regions.inputs[k]))
      pieces.back().push_back(inputs[k][p]);
  }
  const auto results = evaluate_graph<Field::Value>(part.graph, pieces);
  if (!results) return results.error().to_string();
  for (std::size_t k = 0; k < whole.size(); ++k) {
    const auto positions = positions_in(part.regions.outputs[k]);
    if (positions.size() != (*results)[k].size()) return "a part has another shape than its region";
    for (std::size_t j = 0; j < positions.size(); ++j)
      join(joined[k], (*results)[k][j], whole[k][positions[j]]);
  }
  return {};
}

/// Parts put together. `inputs` and `whole`: by input and output of the node.
inline Outcome compare_parts(const core::Graph& graph, core::NodeId node,
                             const PartitionSpace& space, const std::vector<LoopCut>& cuts,
                             const std::vector<FieldValues>& inputs,
                             const std::vector<FieldValues>& whole, std::string& message) {
  JoinedValues values;
  std::vector<Joined> joined;
  for (std::size_t k = 0; k < whole.size(); ++k) {
    values.emplace_back(whole[k].size());
    joined.push_back(joined_by(space, cuts, k));
  }
  bool has_between = false;
  for (const LoopCut& cut : cuts) has_between |= !space.loops[cut.loop].between.empty();
  for (const PartBox& box : boxes_of(space, cuts)) {
    const auto part = restrict_to(graph, node, space, box);
    message = part ? run_part(*part, inputs, joined, values) : part.error().to_string();
    if (!part) return has_between ? Outcome::kJoinsBetween : Outcome::kRefused;
    if (!message.empty()) return Outcome::kUnequal;
  }
  for (std::size_t k = 0; k < whole.size(); ++k)
    for (std::size_t j = 0; j < whole[k].size(); ++j)
      if (values[k][j] != whole[k][j]) {
        message = "element " + std::to_string(j) + " of result " + std::to_string(k) + " differs";
        return Outcome::kUnequal;
      }
  return Outcome::kEqual;
}

}  // namespace soapstone::ops::test
