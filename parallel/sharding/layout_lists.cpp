#include "parallel/sharding/layout_lists.h"

#include <algorithm>

namespace soapstone::parallel {

LayoutListId LayoutLists::add(std::vector<Layout> by_choice) {
  const auto [at, is_new] = numbers_.try_emplace(std::move(by_choice), LayoutListId(lists_.size()));
  if (!is_new) return at->second;
  List& list = lists_.emplace_back();
  list.by_choice = list.different = at->first;
  std::ranges::sort(list.different);
  list.different.erase(std::unique(list.different.begin(), list.different.end()),
                       list.different.end());
  for (const Layout& layout : list.by_choice) {
    const auto found = std::ranges::lower_bound(list.different, layout);
    list.number.push_back(static_cast<std::uint32_t>(found - list.different.begin()));
  }
  return at->second;
}

LayoutListId LayoutLists::union_of(const std::vector<LayoutListId>& lists) {
  const auto [at, is_new] = unions_.try_emplace(lists);
  if (!is_new) return at->second;
  std::vector<Layout> all;
  for (const LayoutListId id : lists)
    all.insert(all.end(), lists_[id.index()].different.begin(), lists_[id.index()].different.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return at->second = add(std::move(all));
}

}  // namespace soapstone::parallel
