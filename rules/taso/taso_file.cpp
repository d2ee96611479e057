// See taso_file.h. The messages are few and flat, so protobuf's wire reader is enough. The only
// file of this folder that knows protobuf.
#include "rules/taso/taso_file.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <limits>
#include <utility>

namespace soapstone::rules::taso {
namespace {

using google::protobuf::io::CodedInputStream;

/// One message: its fields are given to a handler one by one.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes)
      : stream_(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                static_cast<int>(bytes.size())) {}

  /// The place of the first fault, or none after the whole file was read.
  bool read_file(std::vector<RuleMessage>& rules) {
    return read_fields([&](std::uint32_t field, std::uint32_t wire) {
      if (field != 1 || wire != kLengthDelimited) return skip(wire);
      return read_message([&] { return read_rule(rules.emplace_back()); });
    });
  }
  int position() const { return stream_.CurrentPosition(); }

 private:
  static constexpr std::uint32_t kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5;

  /// Reads until the end of the message. A tag of 0 within it is a fault.
  template <class Handle>
  bool read_fields(Handle handle) {
    while (!at_end()) {
      const std::uint32_t tag = stream_.ReadTag();
      if (tag >> 3 == 0 || !handle(tag >> 3, tag & 7)) return false;
    }
    return true;
  }

  bool at_end() {
    const int limit = stream_.BytesUntilLimit();
    return limit >= 0 ? limit == 0 : stream_.ExpectAtEnd();
  }

  template <class Read>
  bool read_message(Read read) {
    std::uint32_t length = 0;
    if (!stream_.ReadVarint32(&length)) return false;
    constexpr std::uint32_t kMost = std::numeric_limits<int>::max();
    const int outer = stream_.BytesUntilLimit();
    if (length > kMost || (outer >= 0 && length > static_cast<std::uint32_t>(outer))) return false;
    const auto limit = stream_.PushLimit(static_cast<int>(length));
    const bool whole = read() && stream_.BytesUntilLimit() == 0;
    stream_.PopLimit(limit);
    return whole;
  }

  bool read_int(std::uint32_t wire, std::int32_t& value) {
    std::uint64_t bits = 0;  // a negative number has ten bytes
    if (wire != kVarint || !stream_.ReadVarint64(&bits)) return false;
    value = static_cast<std::int32_t>(bits);
    return true;
  }

  bool skip(std::uint32_t wire) {
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    switch (wire) {
    case kVarint:
      return stream_.ReadVarint64(&number);
    case kFixed64:
      return stream_.Skip(8);
    case kFixed32:
      return stream_.Skip(4);
    case kLengthDelimited:
      return stream_.ReadVarint32(&length) &&
             length <= static_cast<std::uint32_t>(std::numeric_limits<int>::max()) &&
             stream_.Skip(static_cast<int>(length));
    default:
      return false;
    }
  }

  bool read_rule(RuleMessage& rule) {
    return read_fields([&](std::uint32_t field, std::uint32_t wire) {
      if (field < 1 || field > 3 || wire != kLengthDelimited) return skip(wire);
      if (field == 3) return read_message([&] { return read_output(rule.outputs.emplace_back()); });
      auto& side = field == 1 ? rule.source : rule.target;
      return read_message([&] { return read_operator(side.emplace_back()); });
    });
  }

  bool read_operator(Operator& op) {
    return read_fields([&](std::uint32_t field, std::uint32_t wire) {
      if (field == 1) {
        std::int32_t type = 0;
        if (!read_int(wire, type)) return false;
        op.type = static_cast<OpType>(type);
        return true;
      }
      if (field == 2 && wire == kLengthDelimited)
        return read_message([&] {
          return read_numbers({&op.inputs.emplace_back().op, &op.inputs.back().output});
        });
      if (field != 3 || wire != kLengthDelimited) return skip(wire);
      std::int32_t key = 0, value = 0;
      if (!read_message([&] { return read_numbers({&key, &value}); })) return false;
      op.parameters[static_cast<Key>(key)] = value;
      return true;
    });
  }

  bool read_output(MapOutput& map) {
    return read_numbers({&map.source.op, &map.target.op, &map.source.output, &map.target.output});
  }

  /// A message of integers: field k goes to the k-th place.
  bool read_numbers(const std::vector<std::int32_t*>& places) {
    return read_fields([&](std::uint32_t field, std::uint32_t wire) {
      return field <= places.size() ? read_int(wire, *places[field - 1]) : skip(wire);
    });
  }

  CodedInputStream stream_;
};

}  // namespace

core::Result<std::vector<RuleMessage>> read_taso_file(std::string_view bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return core::invalid_input("the file is larger than 2 GiB");
  std::vector<RuleMessage> rules;
  MessageReader reader(bytes);
  if (!reader.read_file(rules))
    return core::invalid_input(
        fmt::format("byte {}, in rule {}: this is no TASO rule file, or it is cut short",
                    reader.position(), rules.empty() ? 0 : rules.size() - 1),
        "give a file such as TASO's graph_subst.pb");
  if (rules.empty()) return core::invalid_input("the file holds no rules");
  return rules;
}

}  // namespace soapstone::rules::taso
