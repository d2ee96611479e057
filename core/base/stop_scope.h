// The stop token that loops of this thread look at which are too far below the function that was
// given it: a kernel that computes 10^8 elements has no other way to hear of it. Outside of a scope
// nothing is cut short.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"

namespace soapstone::core {

class StopScope {
 public:
  /// Until it is destroyed, loops of this thread end when `stop` (null: never) asks for it, and
  /// answer kInterrupted. Scopes nest; the innermost one counts.
  explicit StopScope(const StopToken* stop) : stop_(stop), outer_(current()) { current() = this; }
  ~StopScope() { current() = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// Whether something within was cut short, so that its result says nothing.
  bool has_interrupted() const { return has_interrupted_; }

  static bool stopped() {
    const StopScope* scope = current();
    return scope != nullptr && scope->stop_ != nullptr && scope->stop_->stop_requested();
  }
  /// The answer of a loop that was cut short. Precondition: stopped().
  static Error interrupted() {
    current()->has_interrupted_ = true;
    return {ErrorCode::kInterrupted, "interrupted", {}, {}};
  }

 private:
  /// The innermost scope of this thread, or null.
  static StopScope*& current() {
    static thread_local StopScope* scope = nullptr;
    return scope;
  }
  const StopToken* stop_;
  StopScope* outer_;
  bool has_interrupted_ = false;
};

}  // namespace soapstone::core
