// Lists of layouts, one for each choice of something, by number: equal lists have the same one. The
// layouts of a list repeat a lot, so each list also knows its different ones.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "parallel/sharding/layout.h"

namespace soapstone::parallel {

struct LayoutListTag;
using LayoutListId = core::Id<LayoutListTag>;

class LayoutLists {
 public:
  struct List {
    std::vector<Layout> by_choice;
    std::vector<Layout> different;      ///< Ascending.
    std::vector<std::uint32_t> number;  ///< By choice: which of the different ones.
  };
  LayoutListId add(std::vector<Layout> by_choice);
  /// All that occur in some of the lists, ascending.
  LayoutListId union_of(const std::vector<LayoutListId>& lists);
  const List& operator[](LayoutListId id) const { return lists_[id.index()]; }

 private:
  std::deque<List> lists_;  // references stay valid
  std::map<std::vector<Layout>, LayoutListId> numbers_;
  std::map<std::vector<LayoutListId>, LayoutListId> unions_;
};

}  // namespace soapstone::parallel
