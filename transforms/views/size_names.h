// Sizes in rules that are made for a graph: a number that is a size alone is written as a symbol,
// so that one proof serves wherever the rest is equal.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "transforms/views/view.h"

namespace soapstone::transforms {

class SizeNames {
 public:
  /// A number that no rule may leave open, whatever else it is.
  void fix(std::int64_t n) { fixed_.insert(n); }
  void leave_open(std::int64_t n) { open_.insert(n); }
  bool has_open() const;

  /// From now on: with symbols, or numbers alone.
  void write_symbols(bool symbols) { symbols_ = symbols; }
  std::string text(std::int64_t n) const;
  Names texts(const Sizes& sizes) const;

 private:
  bool is_open(std::int64_t n) const { return n > 1 && open_.contains(n) && !fixed_.contains(n); }

  std::set<std::int64_t> open_, fixed_;
  bool symbols_ = false;
};

}  // namespace soapstone::transforms
