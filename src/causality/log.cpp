#include "causality/log.hpp"

#include <algorithm>
#include <ostream>

#include "trace/diagram.hpp"

namespace conclave::causality {
namespace {

// The first bytes of a text, without a part of a character at the end.
std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "…";
}

// Without what would begin a new line, or make the file look binary.
std::string plain(std::string_view text, char instead) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, instead);
  return out;
}

}  // namespace

std::string_view Execution::text(EventId event) const {
  const auto found = texts.find(event);
  return found == texts.end() ? std::string_view() : std::string_view(found->second);
}

void Collector::execution(std::string_view label) {
  executions_.push_back(std::make_unique<Execution>());
  executions_.back()->label = label;
}

void Collector::event(const LogEvent& event, const Hosts& hosts) {
  Execution& execution = *executions_.back();
  while (execution.names.size() < hosts.size())
    execution.names.push_back(hosts.names()[execution.names.size()]);
  execution.history.grow(hosts.size());
  execution.history.add(event.event, event.clock, event.line);
  if (texts_ >= most_texts) return;
  ++texts_;
  execution.texts.emplace(event.event, shortened(event.text, longest_text));
}

std::vector<std::unique_ptr<Execution>> Collector::finish() {
  for (const auto& execution : executions_) execution->history.finish();
  return std::move(executions_);
}

void ShivizWriter::execution(std::string_view label) {
  names_.clear();
  if (!begun_)
    out_ << R"((?<host>\S*) (?<clock>{.*})\n(?<event>.*))"
         << "\n^=== (?<trace>.*) ===$\n";
  if (begun_ || !label.empty()) buffer_ += "=== " + plain(label, ' ') + " ===\n";
  begun_ = true;
}

void ShivizWriter::event(const LogEvent& event, const Hosts& hosts) {
  while (names_.size() < hosts.size()) {
    // The form has no room for spaces in a name.
    std::string name = plain(hosts.names()[names_.size()], '_');
    std::ranges::replace(name, ' ', '_');
    while (std::ranges::find(names_, name) != names_.end()) name += '_';
    names_.push_back(std::move(name));
  }
  append_shiviz(buffer_, event, names_);
  if (buffer_.size() > 1 << 16) finish();
}

void ShivizWriter::finish() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

void replay(const trace::Run& run, LogSink& sink) {
  Hosts hosts;
  std::map<NodeId, std::uint32_t> index;
  const auto index_of = [&](NodeId node) {
    const auto [found, added] = index.try_emplace(node, hosts.size());
    if (added) hosts.add("p" + std::to_string(node.value));
    return found->second;
  };
  for (const NodeId node : run.header.nodes) index_of(node);
  const bool has_vectors =
      std::ranges::any_of(run.steps, [](const trace::Step& step) { return !step.vector.counts.empty(); });

  sink.execution({});
  std::map<NodeId, VectorClock> now;
  std::map<std::uint64_t, VectorClock> under_way;
  std::vector<Known> known;
  std::uint64_t line = 1;  // of the header
  for (const trace::Step& step : run.steps) {
    ++line;
    if (!step.node) continue;
    if (!has_vectors) {
      VectorClock& clock = now[*step.node];
      const bool receives = step.kind == trace::Kind::deliver || step.kind == trace::Kind::hear;
      const auto sent = step.message && receives ? under_way.find(*step.message) : under_way.end();
      if (sent != under_way.end()) clock.merge(sent->second);
      clock.tick(*step.node);
      for (const trace::Sent& out : step.sends) under_way[out.id] = clock;
    }
    const VectorClock& clock = has_vectors ? step.vector : now[*step.node];
    known.clear();
    for (const auto& [node, count] : clock.counts)
      known.push_back(
          {index_of(node), static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX))});
    const std::uint32_t own = index_of(*step.node);
    const auto number = static_cast<std::uint32_t>(std::min<std::uint64_t>(clock[*step.node], UINT32_MAX));
    if (number == 0) continue;  // a step without a time
    const std::string words = trace::words(step);
    sink.event({.event = {own, number}, .clock = known, .text = words, .line = line}, hosts);
  }
}

std::vector<EventId> in_causal_order(const History& history) {
  struct Placed {
    std::uint64_t line;
    EventId event;
    std::uint32_t chain;
  };
  std::vector<Placed> placed;
  for (std::uint32_t process = 0; process < history.processes(); ++process) {
    for (std::uint32_t number = 1; number <= history.events_of(process); ++number) {
      const EventId event = {process, number};
      placed.push_back({history.line(event), event, history.chain(event)});
    }
  }
  std::ranges::sort(placed, {}, [](const Placed& entry) { return std::pair(entry.line, entry.event); });
  std::vector<std::uint32_t> done(history.processes());
  const bool lines_will_do = std::ranges::all_of(placed, [&](const Placed& entry) {
    ++done[entry.event.process];
    return history.clock(entry.event).within(DenseClock(done));
  });
  if (!lines_will_do) std::ranges::stable_sort(placed, {}, [](const Placed& entry) { return entry.chain; });
  std::vector<EventId> order;
  for (const Placed& entry : placed) order.push_back(entry.event);
  return order;
}

Drawable drawable(const Execution& execution, const std::string& title) {
  Drawable out;
  out.header.protocol = title;
  out.header.variant = execution.label;
  for (std::uint32_t process = 0; process < execution.names.size(); ++process) {
    const NodeId node = {process + 1};
    out.header.nodes.insert(node);
    out.header.names[node] = execution.names[process];
  }
  std::map<EventId, std::size_t> row;
  std::uint64_t messages = 0;
  for (const EventId event : in_causal_order(execution.history)) {
    trace::Step step = {.number = out.steps.size() + 1,
                        .at = {out.steps.size() + 1},
                        .kind = trace::Kind::event,
                        .node = NodeId{event.process + 1}};
    const DenseClock clock = execution.history.clock(event);
    for (std::uint32_t process = 0; process < clock.size(); ++process) {
      if (clock[process] > 0) step.vector.counts[{process + 1}] = clock[process];
    }
    step.lamport = execution.history.chain(event);
    step.input.type = execution.text(event);
    if (step.input.type.empty()) step.input.type = execution.name(event);
    if (const auto senders = execution.history.senders(event); !senders.empty()) {
      // A step has one input; where clocks tell of several, the first is drawn.
      out.steps[row.at(senders.front())].sends.push_back({.to = *step.node, .id = ++messages});
      step.from = NodeId{senders.front().process + 1};
      step.message = messages;
    }
    row[event] = out.steps.size();
    out.steps.push_back(std::move(step));
  }
  return out;
}

}  // namespace conclave::causality
