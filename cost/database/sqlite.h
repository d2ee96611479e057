// A thin layer over SQLite's C interface: handles that close themselves, statements that reset
// themselves, errors as Status. It knows nothing of costs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "core/base/result.h"

namespace soapstone::cost {

struct CloseDatabase {
  void operator()(sqlite3* handle) const { sqlite3_close(handle); }
};
using DatabaseHandle = std::unique_ptr<sqlite3, CloseDatabase>;

/// A prepared statement. Parameters and columns are numbered from 0, in order.
class Statement {
 public:
  Statement() = default;
  static core::Result<Statement> prepare(sqlite3* database, std::string_view sql);

  /// `text` must stay until the next reset().
  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::int64_t value);

  /// SQLITE_ROW, SQLITE_DONE, or an error code.
  int step() { return sqlite3_step(handle_.get()); }
  /// Makes it ready to be bound and stepped again, and lets go of the database.
  void reset() { sqlite3_reset(handle_.get()); }

  /// SQLITE_TEXT, SQLITE_FLOAT, …, as stored.
  int type(int column) const { return sqlite3_column_type(handle_.get(), column); }
  std::string text(int column) const;
  double real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Resets the statement when the scope is left, so that no read lock outlives its reader.
class ResetOnExit {
 public:
  explicit ResetOnExit(Statement& statement) : statement_(statement) {}
  ~ResetOnExit() { statement_.reset(); }
  ResetOnExit(const ResetOnExit&) = delete;
  ResetOnExit& operator=(const ResetOnExit&) = delete;

 private:
  Statement& statement_;
};

/// Runs statements that return no rows. Errors: kUnavailable with SQLite's own words.
core::Status execute(sqlite3* database, const char* sql);
/// The complaint of the last call on `database`, as kUnavailable.
core::Error database_error(sqlite3* database);

}  // namespace soapstone::cost
