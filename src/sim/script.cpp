#include "sim/script.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/describe.hpp"
#include "trace/parse_json.hpp"

namespace conclave::sim {
namespace {

using What = Action::What;
using Json = nlohmann::json;

constexpr int format_version = 1;
constexpr std::uint64_t greatest_amount = std::uint64_t{1} << 60;  // of ticks: sums of two still fit
constexpr std::int64_t most_jitter = 100;                          // per cent

// What each action says beside its time.
struct Fields {
  bool node = false;
  bool to = false;
  bool nth = false;
  const char* amount = nullptr;  // the name it goes by
};

Fields fields_of(What what) {
  switch (what) {
    case What::wish: return {.node = true, .amount = "hold"};
    case What::tell: return {.node = true, .to = true};
    case What::crash:
    case What::recover:
    case What::pause:
    case What::resume:
    case What::stall:
    case What::flush: return {.node = true};
    case What::partition:
    case What::heal: return {};
    case What::drift: return {.node = true, .amount = "ppm"};
    case What::jump: return {.node = true, .amount = "by"};
    case What::jitter: return {.node = true, .amount = "percent"};
    case What::disk: return {.amount = "ticks"};
    case What::lose: return {.node = true, .nth = true};
    case What::duplicate:
    case What::slow:
    case What::reorder: return {.node = true, .nth = true, .amount = "by"};
  }
  return {};
}

// Scripts write one-way for one_way.
template <class E>
std::optional<E> named(std::string name) {
  std::ranges::replace(name, '-', '_');
  return enumerator_named<E>(name);
}

NodeId read_node(const Json& value, const NodeSet& members) {
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= UINT32_MAX;
  if (!fits || !members.contains({value.get<std::uint32_t>()}))
    throw std::runtime_error(fmt::format("{} is no member; members are {} to {}", value.dump(),
                                         members.min().value, members.max().value));
  return {value.get<std::uint32_t>()};
}

const Json& need(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw std::runtime_error(fmt::format("\"{}\" is missing", key));
  return *found;
}

std::uint64_t unsigned_field(const Json& object, const char* key) {
  const Json& value = need(object, key);
  if (!value.is_number_unsigned())
    throw std::runtime_error(fmt::format("\"{}\" is no number of 0 or more", key));
  if (value.get<std::uint64_t>() > greatest_amount)
    throw std::runtime_error(fmt::format("\"{}\" is too large", key));
  return value.get<std::uint64_t>();
}

// Of what was not synced all survives, nothing, or the first so many writes.
void read_survivors(const Json& crash, Action& action) {
  const auto found = crash.find("unsynced_survives");
  if (found == crash.end()) return;
  if (found->is_boolean()) {
    action.durable = found->get<bool>();
    return;
  }
  if (!found->is_number_unsigned())
    throw std::runtime_error("\"unsynced_survives\" must be true, false, or how many writes do");
  action.durable = false;
  action.amount = static_cast<std::int64_t>(unsigned_field(crash, "unsynced_survives"));
}

Action read_action(const Json& object, const NodeSet& members) {
  if (!object.is_object()) throw std::runtime_error("not an object");
  const Json& name = need(object, "do");
  const auto what = name.is_string() ? named<What>(name.get<std::string>()) : std::nullopt;
  if (!what)
    throw std::runtime_error(fmt::format(
        "\"do\" is {}; it must be one of wish, tell, crash, recover, pause, resume, partition, heal, "
        "drift, jump, jitter, stall, flush, disk, lose, duplicate, slow, reorder",
        name.dump()));
  Action action = {.what = *what};
  const Fields fields = fields_of(*what);
  if (!action.concerns_message()) action.at = {unsigned_field(object, "at")};
  if (fields.node) action.node = read_node(need(object, "node"), members);
  if (fields.to) action.to = read_node(need(object, "to"), members);
  if (fields.to && action.to == action.node) throw std::runtime_error("a node does not tell itself anything");
  if (fields.nth) {
    action.nth = unsigned_field(object, "nth");
    if (action.nth == 0) throw std::runtime_error("\"nth\" counts from 1");
  }
  if (fields.amount) {
    const Json& amount = need(object, fields.amount);
    if (!amount.is_number_integer())
      throw std::runtime_error(fmt::format("\"{}\" is no whole number", fields.amount));
    if (amount.is_number_unsigned() && amount.get<std::uint64_t>() > greatest_amount)
      throw std::runtime_error(fmt::format("\"{}\" is too large", fields.amount));
    action.amount = amount.get<std::int64_t>();
    if (action.amount < -static_cast<std::int64_t>(greatest_amount))
      throw std::runtime_error(fmt::format("\"{}\" is too small", fields.amount));
    const bool may_be_negative = *what == What::drift || *what == What::jump;
    if (action.amount < 0 && !may_be_negative)
      throw std::runtime_error(fmt::format("\"{}\" is negative", fields.amount));
    if (*what == What::drift && (action.amount <= -1'000'000 || action.amount > 1'000'000))
      throw std::runtime_error("\"ppm\" must lie between -999999 and 1000000");
    if (*what == What::jitter && action.amount > most_jitter)
      throw std::runtime_error(fmt::format("\"percent\" must lie between 0 and {}", most_jitter));
  }
  if (*what == What::recover) action.durable = object.value("durable", true);
  if (*what == What::crash) {
    read_survivors(object, action);
    action.forever = object.value("forever", false);
    if (const auto reaches = object.find("reaches"); reaches != object.end()) {
      if (!reaches->is_array()) throw std::runtime_error("\"reaches\" is no list");
      action.dying = true;
      for (const Json& member : *reaches) action.group.insert(read_node(member, members));
    }
  }
  if (*what == What::partition) {
    const auto cut = named<Action::Cut>(object.value("cut", std::string("two-way")));
    if (!cut) throw std::runtime_error("\"cut\" must be two-way, one-way or bridge");
    action.cut = *cut;
    if (!need(object, "group").is_array()) throw std::runtime_error("\"group\" is no list");
    for (const Json& member : object["group"]) action.group.insert(read_node(member, members));
    if (action.group.empty() || action.group.size() == members.size())
      throw std::runtime_error("\"group\" must be some members, not none or all");
    if (*cut == Action::Cut::bridge) action.node = read_node(need(object, "node"), members);
  }
  return action;
}

}  // namespace

std::string to_json(const Action& action) {
  std::string out = fmt::format("{{\"do\":\"{}\"", enumerator_name(action.what));
  const Fields fields = fields_of(action.what);
  if (!action.concerns_message()) out += fmt::format(",\"at\":{}", action.at.count);
  if (fields.node) out += fmt::format(",\"node\":{}", action.node.value);
  if (fields.to) out += fmt::format(",\"to\":{}", action.to.value);
  if (fields.nth) out += fmt::format(",\"nth\":{}", action.nth);
  if (fields.amount) out += fmt::format(",\"{}\":{}", fields.amount, action.amount);
  if (action.what == What::recover) out += fmt::format(",\"durable\":{}", action.durable);
  if (action.what == What::crash && !action.durable)
    out += action.amount > 0 ? fmt::format(",\"unsynced_survives\":{}", action.amount)
                             : std::string(",\"unsynced_survives\":false");
  if (action.what == What::crash && action.forever) out += ",\"forever\":true";
  if (action.what == What::crash && action.dying)
    out += fmt::format(",\"reaches\":{}", describe_json(action.group));
  if (action.what == What::partition) {
    std::string cut(enumerator_name(action.cut));
    std::ranges::replace(cut, '_', '-');
    out += fmt::format(",\"cut\":\"{}\",\"group\":{}", cut, describe_json(action.group));
    if (action.cut == Action::Cut::bridge) out += fmt::format(",\"node\":{}", action.node.value);
  }
  return out + "}";
}

std::string to_json(const Script& script) {
  std::string out = fmt::format("{{\"conclave-script\":{},\"actions\":[", format_version);
  for (const Action& action : script) {
    out += out.back() == '[' ? "\n  " : ",\n  ";
    out += to_json(action);
  }
  return out + "\n]}\n";
}

std::expected<Script, std::string> parse_script(const std::string& text, const NodeSet& members) {
  const Json document = trace::parse_json<Json>(text);
  if (document.is_discarded()) return std::unexpected("the script is not JSON");
  if (!document.is_object() || !document.contains("conclave-script"))
    return std::unexpected(
        "no \"conclave-script\": a script is {\"conclave-script\": 1, \"actions\": [ … ]}");
  if (document["conclave-script"] != format_version)
    return std::unexpected(fmt::format("script version {}; this program reads version {}",
                                       document["conclave-script"].dump(), format_version));
  if (!document.contains("actions") || !document["actions"].is_array())
    return std::unexpected("no list \"actions\"");
  Script script;
  for (const Json& object : document["actions"]) {
    try {
      script.push_back(read_action(object, members));
    } catch (const std::exception& problem) {
      return std::unexpected(fmt::format("action {}: {}", script.size() + 1, problem.what()));
    }
  }
  return script;
}

}  // namespace conclave::sim
