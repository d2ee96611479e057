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
  /// As ONNX and NumPy have it: with blanks, an ellipsis for leading dimensions of any number, and
  /// the result left out, which then has the letters that stand once, in the order of the alphabet.
  /// Letters are renamed in the order in which they first stand, so that equations that say the
  /// same are the same text. None: not well-formed for operands of these ranks.
  static std::optional<EinsumEquation> from_onnx(std::string_view text,
                                                 std::span<const std::size_t> ranks);
  std::string to_string() const;
};

}  // namespace soapstone::ops
