// Reads a JSON document field by field and says where it is wrong. A template, so that no header
// shows which library parses it.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

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
  void fail(std::string message) const {
    if (*error_) return;
    *error_ = core::invalid_input(std::move(message));
    (*error_)->where = place_.empty() ? "the document" : place_;
  }

  /// Fails unless this is an object whose keys are all among these.
  void expect_keys(std::initializer_list<std::string_view> keys) const {
    if (!value_->is_object()) return fail("this is no object");
    for (const auto& [key, value] : value_->items()) {
      bool is_known = false;
      for (const std::string_view known : keys) is_known = is_known || known == key;
      if (!is_known) return fail("there is no key '" + key + "' here");
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

  std::string text() const {
    if (value_->is_string()) return value_->template get<std::string>();
    fail("this is no text");
    return {};
  }
  double number() const {
    if (value_->is_number()) return value_->template get<double>();
    fail("this is no number");
    return 0;
  }
  double positive() const {
    const double value = number();
    if (!(std::isfinite(value) && value > 0)) fail("this is not a positive number");
    return value;
  }
  std::int64_t integer() const {
    if (value_->is_number_integer() && std::abs(value_->template get<double>()) < 9e15)
      return value_->template get<std::int64_t>();
    fail("this is no integer");
    return 0;
  }
  bool truth() const {
    if (value_->is_boolean()) return value_->template get<bool>();
    fail("this is neither true nor false");
    return false;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    if (!value_->is_array()) return fail("this is no list");
    for (std::size_t k = 0; k < value_->size(); ++k)
      visit(JsonReader((*value_)[k], place_ + "[" + std::to_string(k) + "]", *error_));
  }
  template <class Visit>
  void for_each_field(Visit visit) const {
    if (!value_->is_object()) return fail("this is no object");
    for (const auto& [key, value] : value_->items())
      visit(key, JsonReader(value, place_ + "." + key, *error_));
  }

 private:
  const Json* value_;
  std::string place_;
  std::optional<core::Error>* error_;
};

}  // namespace soapstone::parallel
