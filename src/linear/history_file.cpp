#include "linear/history_file.hpp"

#include <fmt/format.h>

#include <istream>
#include <limits>
#include <nlohmann/json.hpp>

namespace conclave::linear {
namespace {

using Json = nlohmann::ordered_json;
using Error = std::unexpected<std::string>;

constexpr std::pair<Kind, const char*> names[] = {
    {Kind::put, "put"}, {Kind::get, "get"}, {Kind::erase, "delete"}, {Kind::swap, "swap"}};

std::expected<Kind, std::string> kind_of(const std::string& name) {
  for (const auto& [kind, its_name] : names)
    if (name == its_name) return kind;
  return Error(fmt::format("\"op\" is \"{}\", and not put, get, delete or swap", name.substr(0, 40)));
}

Json json_of(const Value& value) { return value ? Json(*value) : Json(nullptr); }

// Reads fields, and remembers the first thing that is wrong.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  const Json* find(const char* name) {
    const auto at = object_.find(name);
    return at == object_.end() ? nullptr : &*at;
  }
  std::string text(const char* name) {
    const Json* const field = find(name);
    if (!field || !field->is_string()) return wrong(fmt::format("\"{}\" is missing, or no text", name)), "";
    return field->get<std::string>();
  }
  Value value(const char* name) {
    const Json* const field = find(name);
    if (field && field->is_null()) return std::nullopt;
    if (field && field->is_string()) return field->get<std::string>();
    wrong(fmt::format("\"{}\" is missing, or neither a text nor null", name));
    return std::nullopt;
  }
  template <class Number>
  Number number(const char* name) {
    const Json* const field = find(name);
    const bool fits =
        field && (std::is_signed_v<Number> ? field->is_number_integer() : field->is_number_unsigned());
    // A positive number beyond what a signed one holds would come out negative.
    if (!fits || (std::is_signed_v<Number> && field->is_number_unsigned() &&
                  field->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()))
      return wrong(fmt::format("\"{}\" is missing, or no whole number", name)), Number{};
    return field->get<Number>();
  }
  bool yes(const char* name) {
    const Json* const field = find(name);
    if (!field || !field->is_boolean())
      return wrong(fmt::format("\"{}\" is missing, or not true or false", name)), false;
    return field->get<bool>();
  }
  void wrong(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  const std::string& what_is_wrong() const { return wrong_; }

 private:
  const Json& object_;
  std::string wrong_;
};

void read_answer(Reader& reader, Operation& operation) {
  operation.returned = reader.number<Time>("end");
  if (operation.returned < operation.invoked) reader.wrong("it ended before it began");
  if (operation.kind == Kind::get || reader.find("found")) operation.found = reader.value("found");
  if (operation.kind == Kind::swap) operation.swapped = reader.yes("swapped");
  if (reader.find("revision")) operation.revision = reader.number<std::uint64_t>("revision");
}

}  // namespace

std::string to_line(const Operation& operation) {
  Json line = {{"process", operation.process}};
  for (const auto& [kind, name] : names)
    if (kind == operation.kind) line["op"] = name;
  line["key"] = operation.key;
  if (operation.kind == Kind::swap) line["wanted"] = json_of(operation.wanted);
  if (operation.kind == Kind::put || operation.kind == Kind::swap) line["value"] = operation.value;
  line["begin"] = operation.invoked;
  if (operation.returned) {
    line["end"] = *operation.returned;
    if (operation.found) line["found"] = json_of(*operation.found);
    if (operation.kind == Kind::swap) line["swapped"] = operation.swapped;
    if (operation.revision) line["revision"] = *operation.revision;
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::expected<Operation, std::string> from_line(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return Error("it is no JSON object");
  Reader reader(object);
  Operation operation;
  const auto kind = kind_of(reader.text("op"));
  operation.process = reader.number<std::uint64_t>("process");
  operation.key = reader.text("key");
  operation.invoked = reader.number<Time>("begin");
  if (kind) operation.kind = *kind;
  if (operation.kind == Kind::swap) operation.wanted = reader.value("wanted");
  if (operation.kind == Kind::put || operation.kind == Kind::swap) operation.value = reader.text("value");
  if (reader.find("end")) read_answer(reader, operation);
  if (!kind && reader.find("op")) return Error(kind.error());
  if (!reader.what_is_wrong().empty()) return Error(reader.what_is_wrong());
  return operation;
}

std::expected<History, std::string> read_history(std::istream& in) {
  History history;
  std::vector<char> buffer(longest_line + 1);
  for (std::size_t number = 1;; ++number) {
    in.getline(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const std::string_view line(buffer.data());
    if (in.fail() && !in.eof())
      return Error(fmt::format("line {} has more than {} bytes", number, longest_line));
    if (in.fail()) break;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto operation = from_line(line);
    if (!operation) return Error(fmt::format("line {}: {}", number, operation.error()));
    if (history.size() == most_operations)
      return Error(fmt::format("it has more than {} operations", most_operations));
    history.push_back(std::move(*operation));
  }
  return history;
}

}  // namespace conclave::linear
