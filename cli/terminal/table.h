// Aligned text tables, and text cut to a width. A column is as wide as its widest cell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace soapstone::cli {

enum class Align : std::uint8_t { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string header;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns);

  /// Precondition: as many cells as there are columns.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Header, a rule, rows; each line indented by two spaces, none with spaces at its end. Without
  /// any header the rule is left out too.
  std::string to_string() const;

 private:
  std::string line(const std::vector<std::string>& cells,
                   const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that UTF-8 text takes: one a code point.
std::size_t display_width(std::string_view text);
/// At most `width` columns; `…` stands for what is left out at the end.
std::string cut_to_width(std::string text, int width);

}  // namespace soapstone::cli
