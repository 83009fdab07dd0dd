#include "trace/merge.hpp"

#include <fmt/format.h>

#include <istream>
#include <map>
#include <queue>
#include <set>

#include "core/ensure.hpp"

namespace conclave::trace {
namespace {

using Found = std::expected<void, std::string>;

std::string at_line(const std::string& file, std::uint64_t line, std::string_view what) {
  return fmt::format("{}:{}: {}", file, line, what);
}

// --- Reading -----------------------------------------------------------------------------------------------

class PartReader {
 public:
  explicit PartReader(const std::string& file) : file_(file) {}

  // What is wrong with the line; empty if nothing is.
  std::string take(Line line, std::uint64_t number) {
    if (auto* header = std::get_if<Header>(&line.what)) return begin(std::move(*header));
    const auto found = open_.find(line.run);
    if (found == open_.end()) return no_header(line.run);
    Part& part = parts_[found->second];
    if (part.end) return "the run goes on after its end line";
    if (auto* step = std::get_if<Step>(&line.what)) {
      part.steps.push_back(std::move(*step));
      part.lines.push_back(number);
      return {};
    }
    const auto& [end, steps] = std::get<Line::Ending>(line.what);
    if (steps != part.steps.size())
      return fmt::format("the end line counts {} steps, the file has {}", steps, part.steps.size());
    part.end = end;
    return {};
  }
  void tear(std::uint64_t number) {
    for (Part& part : parts_) {
      if (!part.end) part.torn = number;
    }
  }
  std::vector<Part> finish() { return std::move(parts_); }

 private:
  std::string begin(Header header) {
    if (!header.node) return "the header does not say whose part it is: a whole trace needs no merging";
    if (!header.nodes.contains(*header.node))
      return fmt::format("p{} is none of the nodes of its run", header.node->value);
    if (!open_.emplace(header.run, parts_.size()).second)
      return header.run.empty() ? "a second header" : fmt::format("run {} begins twice", header.run);
    parts_.push_back({.file = file_, .header = std::move(header)});
    return {};
  }
  static std::string no_header(const std::string& run) {
    return run.empty() ? "no \"conclave-trace\" header before it"
                       : fmt::format("no \"conclave-trace\" header of run {} before it", run);
  }

  const std::string& file_;
  std::vector<Part> parts_;
  std::map<std::string, std::size_t> open_;  // by the name of the run
};

// --- Checking ----------------------------------------------------------------------------------------------

struct Sender {
  std::size_t part;
  std::size_t step;
  const Sent* sent;
};

// The parts of one run, each of another process, and how they hang together.
class Weaver {
 public:
  Weaver(const std::vector<Part>& parts, const NodeSet& crashed) : parts_(parts), crashed_(crashed) {}

  std::expected<Merged, std::string> weave() {
    for (const auto check : {&Weaver::take_parts, &Weaver::take_steps, &Weaver::check_steps}) {
      if (const Found found = (this->*check)(); !found) return std::unexpected(found.error());
    }
    put_in_order();
    finish();
    return std::move(merged_);
  }

 private:
  // Whether all tell of the same run.
  Found take_parts() {
    if (parts_.empty()) return std::unexpected("there is nothing to merge");
    const Part& first = parts_.front();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const Header& a = first.header;
      const Header& b = part.header;
      if (a.protocol != b.protocol || a.variant != b.variant || a.nodes != b.nodes || a.seed != b.seed ||
          a.world != b.world || a.run != b.run)
        return std::unexpected(fmt::format("{} and {} do not tell of the same run: their headers differ",
                                           first.file, part.file));
      const auto [place, fresh] = part_of_.emplace(*b.node, i);
      if (!fresh)
        return std::unexpected(fmt::format("{} and {} are both what p{} wrote", parts_[place->second].file,
                                           part.file, b.node->value));
    }
    return {};
  }

  Found take_steps() {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      for (std::size_t s = 0; s < parts_[p].steps.size(); ++s) {
        if (const Found found = check_form(p, s); !found) return found;
        for (const Sent& sent : parts_[p].steps[s].sends) {
          if (!letters_.emplace(sent.id, Sender{p, s, &sent}).second)
            return wrong(p, s, fmt::format("message {} was sent before", sent.id));
        }
      }
    }
    return {};
  }

  // What can be said of a step without looking at others.
  Found check_form(std::size_t p, std::size_t s) const {
    const Part& part = parts_[p];
    const Step& step = part.steps[s];
    const NodeId self = *part.header.node;
    if (!step.node) return wrong(p, s, "what happens to links is no process's step");
    if (*step.node != self)
      return wrong(p, s, fmt::format("a step of p{} in the part of p{}", step.node->value, self.value));
    if (step.number != s + 1) return wrong(p, s, fmt::format("step {} where {} is due", step.number, s + 1));
    for (const auto& [node, count] : step.vector.counts) {
      if (!part.header.nodes.contains(node))
        return wrong(p, s, fmt::format("its clock knows p{}, which is not in the run", node.value));
    }
    if (!step.message && step.cause && (*step.cause == 0 || *step.cause > s))
      return wrong(p, s, "no earlier step of its process is its cause");
    return {};
  }

  Found check_steps() {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      for (std::size_t s = 0; s < parts_[p].steps.size(); ++s) {
        if (const Found found = check_clocks(p, s); !found) return found;
      }
    }
    return {};
  }

  Found check_clocks(std::size_t p, std::size_t s) {
    const Part& part = parts_[p];
    const Step& step = part.steps[s];
    const NodeId self = *part.header.node;
    LogicalTime expected = s == 0 ? LogicalTime{} : LogicalTime(part.steps[s - 1]);
    bool known = true;
    if (step.message) {
      if (const Found found = check_arrival(p, s, expected, known); !found) return found;
    }
    ++expected.lamport;
    expected.vector.tick(self);
    const bool right =
        known ? expected.lamport == step.lamport && expected.vector == step.vector
              : expected.vector.within(step.vector) && expected.vector[self] == step.vector[self];
    if (!right) return wrong(p, s, "its clocks do not follow from what happened before");
    return {};
  }

  struct LogicalTime {
    std::uint64_t lamport = 0;
    VectorClock vector = {};
    LogicalTime() = default;
    explicit LogicalTime(const Step& step) : lamport(step.lamport), vector(step.vector) {}
  };

  // Puts what the message brings into the clocks, if its sender's part is there.
  Found check_arrival(std::size_t p, std::size_t s, LogicalTime& clocks, bool& known) {
    const Step& step = parts_[p].steps[s];
    if (!step.from) return wrong(p, s, "does not say who sent the message");
    if (!step.cause) return wrong(p, s, "does not say which step sent the message");
    const auto found = letters_.find(*step.message);
    if (found == letters_.end()) {
      known = false;
      const auto sender = part_of_.find(*step.from);
      if (sender != part_of_.end() && *step.cause <= parts_[sender->second].steps.size())
        return wrong(p, s,
                     fmt::format("step {} of p{} did not send message {}", *step.cause, step.from->value,
                                 *step.message));
      ++unknown_senders_[*step.from];
      return {};
    }
    const auto& [sender, sending, sent] = found->second;
    const Step& cause = parts_[sender].steps[sending];
    if (cause.node != step.from || cause.number != *step.cause || sent->to != *step.node ||
        sent->what.type != step.input.type || sent->what.content != step.input.content)
      return wrong(p, s,
                   fmt::format("message {} is another than {}", *step.message,
                               at_line(parts_[sender].file, parts_[sender].lines[sending], "says")));
    if (!received_.insert(*step.message).second)
      return wrong(p, s, fmt::format("message {} arrived before", *step.message));
    clocks.lamport = std::max(clocks.lamport, cause.lamport);
    clocks.vector.merge(cause.vector);
    return {};
  }

  std::unexpected<std::string> wrong(std::size_t p, std::size_t s, std::string_view what) const {
    return std::unexpected(at_line(parts_[p].file, parts_[p].lines[s], what));
  }

  // --- Order -----------------------------------------------------------------------------------------------

  struct Place {
    std::uint64_t at;
    NodeId node;
    std::size_t part;
    bool operator<(const Place& other) const {  // the earliest is the greatest
      return std::pair(other.at, other.node) < std::pair(at, node);
    }
  };

  void put_in_order() {
    origin_ = UINT64_MAX;
    std::size_t total = 0;
    for (const Part& part : parts_) {
      total += part.steps.size();
      for (const Step& step : part.steps) origin_ = std::min(origin_, step.at.count);
    }
    next_.assign(parts_.size(), 0);
    last_at_.assign(parts_.size(), 0);
    waiting_.assign(parts_.size(), {});
    numbers_.resize(parts_.size());
    // Whoever starts depends on nobody, and every other world lets all of them start before anything else.
    for (const auto& [node, p] : part_of_) {
      const auto& steps = parts_[p].steps;
      if (!steps.empty() && steps.front().kind == Kind::start) emit(p, 0);
    }
    for (const auto& [node, p] : part_of_) enqueue(p);
    while (!ready_.empty()) {
      const Place place = ready_.top();
      ready_.pop();
      emit(place.part, place.at);
      enqueue(place.part);
      for (const std::size_t other : std::exchange(waiting_[place.part], {})) enqueue(other);
    }
    ensure(merged_.run.steps.size() >= total, "clocks that were found right have no circles");
  }

  // The next step of the process, if nothing has to come before it.
  void enqueue(std::size_t p) {
    if (next_[p] == parts_[p].steps.size()) return crash(p);
    const Step& step = parts_[p].steps[next_[p]];
    std::uint64_t at = std::max(last_at_[p], step.at.count - origin_);
    if (const Sender* sender = sender_of(step)) {
      if (next_[sender->part] <= sender->step) return waiting_[sender->part].push_back(p);
      at = std::max(at, shown(sender->part, sender->step).at.count);
    }
    ready_.push({at, *step.node, p});
  }

  const Sender* sender_of(const Step& step) const {
    const auto found = step.message ? letters_.find(*step.message) : letters_.end();
    return found == letters_.end() ? nullptr : &found->second;
  }
  const Step& shown(std::size_t p, std::size_t s) const { return merged_.run.steps[numbers_[p][s] - 1]; }

  void emit(std::size_t p, std::uint64_t at) {
    const std::size_t s = next_[p]++;
    Step step = parts_[p].steps[s];
    const std::uint64_t noted = step.at.count - origin_;
    if (s > 0 && at > noted) {
      ++moved_;
      farthest_ = std::max(farthest_, at - noted);
    }
    step.at = {at};
    last_at_[p] = at;
    if (const Sender* sender = sender_of(step)) {
      step.cause = numbers_[sender->part][sender->step];
      step.message = renumbered(*step.message);
    } else if (step.message) {
      step.cause.reset();  // nobody's file has it
      step.message = renumbered(*step.message);
    } else if (step.cause) {
      step.cause = numbers_[p][*step.cause - 1];
    }
    for (Sent& sent : step.sends) sent.id = renumbered(sent.id);
    if (step.kind == Kind::deliver && !step.message) ++unstamped_;
    append(p, std::move(step));
  }

  void crash(std::size_t p) {
    const NodeId node = *parts_[p].header.node;
    if (!crashed_.contains(node) || parts_[p].steps.empty() || !died_.insert(node).second) return;
    const Step& last = parts_[p].steps.back();
    Step step = {.at = {last_at_[p]}, .kind = Kind::crash, .node = node, .lamport = last.lamport + 1};
    step.vector = last.vector;
    step.vector.tick(node);
    append(p, std::move(step));
  }

  void append(std::size_t p, Step step) {
    step.number = merged_.run.steps.size() + 1;
    numbers_[p].push_back(step.number);
    merged_.run.steps.push_back(std::move(step));
  }

  std::uint64_t renumbered(std::uint64_t id) { return ids_.try_emplace(id, ids_.size() + 1).first->second; }

  // --- What is said of it ----------------------------------------------------------------------------------

  void finish() {
    Run& run = merged_.run;
    run.header = parts_.front().header;
    run.header.run.clear();
    run.header.node.reset();
    run.end.quiet = part_of_.size() == run.header.nodes.size();
    for (const auto& [node, p] : part_of_) {
      const Part& part = parts_[p];
      if (!part.end && !died_.contains(node)) run.end.quiet = false;
      if (!part.end) continue;
      if (run.end.broken.empty()) run.end.broken = part.end->broken;
      run.end.quiet = run.end.quiet && part.end->quiet;
    }
    for (const auto& [id, sender] : letters_) {
      // What the dead said last may never have left.
      const bool of_the_dead =
          died_.contains(sender.sent->to) || died_.contains(*parts_[sender.part].header.node);
      if (!received_.contains(id) && !of_the_dead) run.end.quiet = false;
    }
    if (!run.end.broken.empty()) run.end.quiet = false;
    if (!run.steps.empty()) run.end.at = run.steps.back().at;
    remark_on_files();
    remark_on_steps();
  }

  void remark(std::string text) { merged_.remarks.push_back(std::move(text)); }

  void remark_on_files() {
    for (NodeId node : merged_.run.header.nodes) {
      if (!part_of_.contains(node)) remark(fmt::format("no file tells what p{} did", node.value));
    }
    for (const auto& [node, p] : part_of_) {
      const Part& part = parts_[p];
      if (part.torn != 0) remark(at_line(part.file, part.torn, "the last line is torn, and was left out"));
      if (!part.end && !died_.contains(node))
        remark(fmt::format("{}: p{} wrote no end: it was killed, or it is not done", part.file, node.value));
    }
  }

  void remark_on_steps() {
    for (const auto& [node, count] : unknown_senders_)
      remark(part_of_.contains(node)
                 ? fmt::format("{} messages of p{} arrived that are missing at the end of its file", count,
                               node.value)
                 : fmt::format("{} messages of p{} arrived, whose file is missing", count, node.value));
    if (unstamped_ > 0) remark(fmt::format("{} messages came from processes that did not trace", unstamped_));
    for (const auto& [node, p] : part_of_) {
      if (!parts_[p].steps.empty() && parts_[p].steps.front().kind != Kind::start)
        remark(fmt::format("p{} began to trace after its start", node.value));
    }
    if (moved_ > 0)
      remark(
          fmt::format("clocks disagree: {} steps are shown up to {} us later than their processes noted, "
                      "after what they follow from",
                      moved_, farthest_));
  }

  const std::vector<Part>& parts_;
  const NodeSet& crashed_;
  Merged merged_ = {};
  std::map<NodeId, std::size_t> part_of_;
  std::map<std::uint64_t, Sender> letters_;  // by the number of the message
  std::set<std::uint64_t> received_;
  std::map<NodeId, std::uint64_t> unknown_senders_;
  std::uint64_t unstamped_ = 0;
  std::uint64_t origin_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t farthest_ = 0;
  // By part: how many steps are in order, when the last of them was, who waits for more of them, and the new
  // numbers of those.
  std::vector<std::size_t> next_;
  std::vector<std::uint64_t> last_at_;
  std::vector<std::vector<std::size_t>> waiting_;
  std::vector<std::vector<std::uint64_t>> numbers_;
  std::priority_queue<Place> ready_;
  std::map<std::uint64_t, std::uint64_t> ids_;  // of messages: the old, the new
  std::set<NodeId> died_;
};

}  // namespace

std::expected<std::vector<Part>, std::string> read_parts(std::istream& in, const std::string& file) {
  PartReader reader(file);
  std::string text;
  std::uint64_t number = 0;
  while (std::getline(in, text)) {
    ++number;
    auto line = parse_line(text);
    if (!line && in.eof()) {  // no line end: whoever wrote it was killed meanwhile
      reader.tear(number);
      break;
    }
    if (!line) return std::unexpected(at_line(file, number, line.error()));
    if (const std::string wrong = reader.take(std::move(*line), number); !wrong.empty())
      return std::unexpected(at_line(file, number, wrong));
  }
  std::vector<Part> parts = reader.finish();
  if (parts.empty()) return std::unexpected(fmt::format("{}: the file is empty", file));
  return parts;
}

std::expected<Merged, std::string> merge(const std::vector<Part>& parts, const NodeSet& crashed) {
  return Weaver(parts, crashed).weave();
}

}  // namespace conclave::trace
