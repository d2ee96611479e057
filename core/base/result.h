// How this project reports failures that a user's input, files or device can cause.
// A broken invariant of our own is a CHECK (core/base/check.h), never an Error.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "core/base/check.h"

namespace soapstone::core {

/// The kind of a failure. Its value is the exit code of a command that ends with it.
enum class ErrorCode {
  kInternal = 1,
  kUsage = 2,
  kInvalidInput = 3,
  kUnsupported = 4,
  kRequirementNotMet = 5,
  kNotEquivalent = 6,
  kUnavailable = 7,
  kNotDecided = 8,
  kInterrupted = 130,
};

/// A failure that a person can act on.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  ///< Says what is wrong, with the offending values.
  std::string where;    ///< File and line, node or option; may be empty.
  std::string hint;     ///< Tells the user what to do next; may be empty.

  /// `where: message (hint)`, leaving out what is empty.
  std::string to_string() const;

  /// The same error seen from further out: `outer` is put in front of `where`.
  Error at(std::string_view outer) const;
};

inline Error invalid_input(std::string message, std::string hint = {}) {
  return {ErrorCode::kInvalidInput, std::move(message), {}, std::move(hint)};
}
inline Error unsupported(std::string message, std::string hint = {}) {
  return {ErrorCode::kUnsupported, std::move(message), {}, std::move(hint)};
}
inline Error unavailable(std::string message, std::string hint = {}) {
  return {ErrorCode::kUnavailable, std::move(message), {}, std::move(hint)};
}

/// A value or the Error that kept it from being made.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    CHECK(ok(), error_text());
    return std::get<0>(state_);
  }
  T& value() & {
    CHECK(ok(), error_text());
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok(), error_text());
    return std::get<0>(std::move(state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    CHECK(!ok(), "Result holds a value");
    return std::get<1>(state_);
  }

 private:
  std::string error_text() const { return ok() ? std::string() : std::get<1>(state_).to_string(); }
  std::variant<T, Error> state_;
};

struct Done {};
/// A Result without a value.
using Status = Result<Done>;

}  // namespace soapstone::core

/// Returns from the enclosing function with the Error of `expr` if it has one.
#define SOAPSTONE_RETURN_IF_ERROR(expr)                          \
  do {                                                           \
    if (auto status_ = (expr); !status_) return status_.error(); \
  } while (false)

#define SOAPSTONE_CONCAT_(a, b) a##b
#define SOAPSTONE_CONCAT(a, b) SOAPSTONE_CONCAT_(a, b)
/// `SOAPSTONE_ASSIGN_OR_RETURN(auto x, f());` declares x from f()'s value or returns f()'s Error.
#define SOAPSTONE_ASSIGN_OR_RETURN(decl, expr) \
  SOAPSTONE_ASSIGN_OR_RETURN_(SOAPSTONE_CONCAT(result_, __LINE__), decl, expr)
#define SOAPSTONE_ASSIGN_OR_RETURN_(tmp, decl, expr) \
  auto tmp = (expr);                                 \
  if (!tmp) return tmp.error();                      \
  decl = *std::move(tmp)
