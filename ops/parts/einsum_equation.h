// The equation of an einsum as labels: of each operand, and of the result.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace soapstone::ops {

struct EinsumEquation {
  std::vector<std::string> operands;  ///< A letter a dimension; one may stand twice (a diagonal).
  std::string result;                 ///< Each letter once, and each is a letter of an operand.

  /// `ab,bc->ac` without blanks. None: not of that form.
  static std::optional<EinsumEquation> parse(std::string_view text);
  /// Reads an equation as ONNX and NumPy write it. There may be blanks, and an ellipsis for any
  /// number of leading dimensions. The result may be left out; it then has the letters that occur
  /// once, in alphabetical order. Letters are renamed in the order in which they first occur, so
  /// that equations with one meaning are one text. None: not well-formed for operands of these
  /// ranks.
  static std::optional<EinsumEquation> from_onnx(std::string_view text,
                                                 std::span<const std::size_t> ranks);
  std::string to_string() const;
};

}  // namespace soapstone::ops
