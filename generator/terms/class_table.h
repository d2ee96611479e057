// The representative of each fingerprint: open addressing over the term table, 4 bytes a slot.
#pragma once

#include <vector>

#include "generator/terms/term.h"

namespace soapstone::generator {

class ClassTable {
 public:
  explicit ClassTable(const TermTable& terms) : terms_(terms), slots_(1024, kNoTerm) {}

  /// kNoTerm if there is none.
  TermId find(const Fingerprint& f) const { return slots_[place(f)]; }
  /// Precondition: there is no representative of its fingerprint.
  void insert(TermId id) {
    if (++count_ * 3 > slots_.size() * 2) grow();
    slots_[place(terms_[id].fingerprint)] = id;
  }
  std::size_t memory_bytes() const { return slots_.size() * sizeof(TermId); }

 private:
  std::size_t place(const Fingerprint& f) const {
    std::size_t at = f.low & (slots_.size() - 1);
    while (slots_[at] != kNoTerm && terms_[slots_[at]].fingerprint != f)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<TermId> old(slots_.size() * 2, kNoTerm);
    std::swap(old, slots_);
    for (TermId id : old)
      if (id != kNoTerm) slots_[place(terms_[id].fingerprint)] = id;
  }

  const TermTable& terms_;
  std::vector<TermId> slots_;
  std::size_t count_ = 0;
};

}  // namespace soapstone::generator
