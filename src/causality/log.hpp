// Logs and traces as histories with names: what conclave trace asks questions about.
#pragma once
#include <memory>

#include "causality/shiviz.hpp"
#include "trace/json.hpp"

namespace conclave::causality {

// One run: its history, who took part, and what the first events say in words.
struct Execution {
  std::string label = {};
  std::vector<std::string> names = {};
  History history = History();
  std::map<EventId, std::string> texts = {};

  std::string name(EventId event) const { return name_of(event, names); }
  // Empty if it is not kept.
  std::string_view text(EventId event) const;
};

// Builds executions from what a reader finds. Words are kept of the first events only: a history is small,
// its words are not.
class Collector : public LogSink {
 public:
  void execution(std::string_view label) override;
  void event(const LogEvent& event, const Hosts& hosts) override;
  std::vector<std::unique_ptr<Execution>> finish();

 private:
  static constexpr std::size_t most_texts = 50'000;
  static constexpr std::size_t longest_text = 400;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::size_t texts_ = 0;
};

// Writes every event in ShiViz's usual form while it is being read, after the two lines in which such files
// say how to read them.
class ShivizWriter : public LogSink {
 public:
  explicit ShivizWriter(std::ostream& out) : out_(out) {}
  void execution(std::string_view label) override;
  void event(const LogEvent& event, const Hosts& hosts) override;
  void finish();

 private:
  std::ostream& out_;
  std::string buffer_;
  std::vector<std::string> names_;
  bool begun_ = false;
};

// Several sinks as one.
class LogTee : public LogSink {
 public:
  explicit LogTee(std::vector<LogSink*> sinks) : sinks_(std::move(sinks)) {}
  void execution(std::string_view label) override {
    for (LogSink* sink : sinks_) sink->execution(label);
  }
  void event(const LogEvent& event, const Hosts& hosts) override {
    for (LogSink* sink : sinks_) sink->event(event, hosts);
  }

 private:
  std::vector<LogSink*> sinks_;
};

// A trace of our own, step by step. Its vector clocks are taken as they are; a trace without them gets those
// that follow from its messages.
void replay(const trace::Run& run, LogSink& sink);

// Every event after all that happened before it: in the order of lines if that is such an order, else by the
// length of their causal chains.
std::vector<EventId> in_causal_order(const History& history);

// As steps that can be drawn: receipts and sendings as the clocks tell of them.
struct Drawable {
  trace::Header header = {};
  std::vector<trace::Step> steps = {};
};
Drawable drawable(const Execution& execution, const std::string& title);

}  // namespace conclave::causality
