// See table.h.
#include "cli/terminal/table.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::cli {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string cut_to_width(std::string text, int width) {
  const auto limit = static_cast<std::size_t>(std::max(width, 1));
  if (display_width(text) <= limit) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (starts_code_point(text[end]) && ++seen == limit) break;
  }
  text.resize(end);
  return text + "…";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size(), "a row of another length");
  rows_.push_back(std::move(cells));
}

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - display_width(cells[i]), ' ');
    text += "  ";
    text += columns_[i].align == Align::kLeft ? cells[i] + padding : padding + cells[i];
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string Table::to_string() const {
  std::vector<std::size_t> widths;
  std::vector<std::string> headers, rules;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].header);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
    headers.push_back(columns_[i].header);
    rules.emplace_back(width, '-');
  }
  const bool has_header = std::any_of(headers.begin(), headers.end(),
                                      [](const std::string& header) { return !header.empty(); });
  std::string text = has_header ? line(headers, widths) + line(rules, widths) : std::string();
  for (const auto& row : rows_) text += line(row, widths);
  return text;
}

}  // namespace soapstone::cli
