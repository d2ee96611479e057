// Reads a JSON document field by field and says where it is wrong. A template, so that no header
// shows which library parses it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/nearest.h"
#include "core/base/result.h"

namespace soapstone::parallel {

/// One value and its place in the document. The first error of a document is kept, and what is
/// read after it is empty.
template <class Json>
class JsonReader {
 public:
  JsonReader(const Json& value, std::string place, std::optional<core::Error>& error)
      : value_(&value), place_(std::move(place)), error_(&error) {}

  const std::string& place() const { return place_; }
  void fail(std::string message, std::string hint = {}) const {
    if (*error_) return;
    *error_ = core::invalid_input(std::move(message), std::move(hint));
    (*error_)->where = place_.empty() ? "the document" : place_;
  }

  /// Fails unless this is an object whose keys are all among these.
  void expect_keys(const std::vector<std::string>& keys) const {
    if (!value_->is_object()) return fail(found() + " is no object");
    for (const auto& [key, value] : value_->items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      const std::string close = core::nearest(key, keys);
      return fail("there is no key '" + key + "' here",
                  close.empty() ? close : "did you mean '" + close + "'?");
    }
  }
  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }
  JsonReader field(const char* key) const {
    static const Json kNothing;
    const std::string place = place_.empty() ? key : place_ + "." + key;
    if (has(key)) return {(*value_)[key], place, *error_};
    fail(std::string("the key '") + key + "' is missing");
    return {kNothing, place, *error_};
  }

  /// The value in short, for messages.
  std::string found() const {
    if (value_->is_object()) return "an object";
    if (value_->is_array()) return "a list";
    constexpr std::size_t kMost = 40;
    const std::string text = value_->dump(-1, ' ', true);  // Cut anywhere, it stays readable.
    return text.size() <= kMost ? text : text.substr(0, kMost) + "…";
  }

  std::string text() const {
    if (value_->is_string()) return value_->template get<std::string>();
    fail(found() + " is no text");
    return {};
  }
  double number() const {
    if (value_->is_number()) return value_->template get<double>();
    fail(found() + " is no number");
    return 0;
  }
  double not_negative() const {
    const double value = number();
    if (!(std::isfinite(value) && value >= 0)) fail(found() + " is negative");
    return value;
  }
  std::int64_t integer() const {
    if (value_->is_number_integer() && std::abs(value_->template get<double>()) < 9e15)
      return value_->template get<std::int64_t>();
    fail(found() + " is no integer");
    return 0;
  }
  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    const std::int64_t value = integer();
    if (value >= least && value <= most) return value;
    fail(found() + " is not between " + std::to_string(least) + " and " + std::to_string(most));
    return least;
  }
  bool truth() const {
    if (value_->is_boolean()) return value_->template get<bool>();
    fail(found() + " is neither true nor false");
    return false;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    if (!value_->is_array()) return fail(found() + " is no list");
    for (std::size_t k = 0; k < value_->size(); ++k)
      visit(JsonReader((*value_)[k], place_ + "[" + std::to_string(k) + "]", *error_));
  }
  template <class Visit>
  void for_each_field(Visit visit) const {
    if (!value_->is_object()) return fail(found() + " is no object");
    for (const auto& [key, value] : value_->items())
      visit(key, JsonReader(value, place_ + "." + key, *error_));
  }

 private:
  const Json* value_;
  std::string place_;
  std::optional<core::Error>* error_;
};

}  // namespace soapstone::parallel
