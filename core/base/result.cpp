// How an Error reads to a person.
#include "core/base/result.h"

namespace soapstone::core {

std::string Error::to_string() const {
  std::string text;
  if (!where.empty()) text = where + ": ";
  text += message;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

Error Error::at(std::string_view outer) const {
  Error error = *this;
  error.where = outer;
  if (where.empty()) return error;
  // A position follows its file directly (`a.graph:3:7`); other places are spelled out.
  const bool position = where.front() >= '0' && where.front() <= '9';
  error.where += (position ? ":" : ": ") + where;
  return error;
}

}  // namespace soapstone::core
