#include "trace/repetition.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/describe.hpp"
#include "trace/diagram.hpp"
#include "trace/drawing.hpp"
#include "trace/parse_json.hpp"

namespace conclave::trace {
namespace {

using Json = nlohmann::ordered_json;

// Nothing and an object without fields are the same; so are two spellings of one value.
bool same_json(const std::string& a, const std::string& b) {
  if (a == b || (a.size() <= 2 && b.size() <= 2)) return true;
  const Json one = parse_json<Json>(a);
  const Json other = parse_json<Json>(b);
  return !one.is_discarded() && one == other;
}

bool same_item(const Item& a, const Item& b) { return a.type == b.type && same_json(a.content, b.content); }

std::string shortened(const std::string& text) {
  constexpr std::size_t most = 100;
  return columns(text) <= most ? text : text.substr(0, first_bytes(text, most)) + "…";
}

std::string listed(const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) out += (out.empty() ? "" : ", ") + describe(item);
  return items.empty() ? "nothing" : out;
}

std::vector<Item> sent_by(const Step& step) {
  std::vector<Item> items;
  for (const Sent& sent : step.sends) {
    items.push_back(sent.what);
    items.back().type = fmt::format("{} to {}", sent.what.type, name_of(sent.to));
  }
  return items;
}

std::string differing(const char* what, const std::string& shown, const std::string& repeated) {
  return fmt::format("{}: the trace shows {}, the replay {}", what, shortened(shown), shortened(repeated));
}

std::string changes(const Step& step) { return step.changed.size() <= 2 ? "no change" : step.changed; }

}  // namespace

std::string difference(const Step& shown, const Step& repeated) {
  if (shown.kind != repeated.kind || shown.node != repeated.node || shown.from != repeated.from ||
      !same_item(shown.input, repeated.input))
    return differing("another step", words(shown), words(repeated));
  const auto other = [](const std::vector<Item>& a, const std::vector<Item>& b) {
    return !std::ranges::equal(a, b, same_item);
  };
  if (const auto then = sent_by(shown), now = sent_by(repeated); other(then, now))
    return differing("what is sent", listed(then), listed(now));
  if (other(shown.events, repeated.events))
    return differing("what the client is told", listed(shown.events), listed(repeated.events));
  if (!same_json(shown.changed, repeated.changed))
    return differing("the state", changes(shown), changes(repeated));
  return {};
}

void Repetition::see(const Step& step) {
  if (!departure_.empty()) return;
  if (seen_ >= shown_.size()) {
    departure_ = fmt::format("step {}: the trace ends before it, the replay goes on: {}", step.number,
                             shortened(words(step)));
    return;
  }
  const Step& shown = shown_[seen_++];
  const std::string how = difference(shown, step);
  if (!how.empty()) departure_ = fmt::format("step {}: {}", shown.number, how);
}

}  // namespace conclave::trace
