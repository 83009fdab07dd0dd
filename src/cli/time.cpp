// conclave time: clocks of real processes, put right by Cristian's or the Berkeley algorithm.
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "catalogue/timesync/live.hpp"
#include "cli/addresses.hpp"
#include "cli/terminal.hpp"
#include "cli/until_signal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace asio = boost::asio;
using catalogue::ClockCorrection;
using catalogue::ClockReading;

constexpr std::uint16_t usual_port = 7037;

struct Flags {
  std::string listen = fmt::format("127.0.0.1:{}", usual_port);
  std::string server;
  double every = 10;
  double timeout = 0.5;
  std::uint32_t samples = 4;
  std::uint64_t rounds = 0;
  bool every_given = false;
  bool watch = false;
  bool json = false;
  double read_every = 0;
  double drift_ppm = 100;
  double skew_ppm = 0;
  double offset_ms = 0;
  std::uint32_t id = 0;
  std::string members;
  std::string key_file;
  double round_trip_ms = 50;
  double gamma_ms = 25;
  bool rejoin = false;
};

catalogue::Microseconds seconds(double count) {
  return catalogue::Microseconds(static_cast<std::int64_t>(std::llround(count * 1e6)));
}
live::HardwareClock::Fault fault_of(const Flags& flags) {
  return {.offset = std::llround(flags.offset_ms * 1e3), .skew_ppb = std::llround(flags.skew_ppm * 1e3)};
}
std::int64_t drift_of(const Flags& flags) { return std::llround(flags.drift_ppm * 1e3); }

// Bounds are stated for a drift; a clock that is made to drift more would break them in silence.
std::string wrong_with(const Flags& flags) {
  if (std::abs(flags.skew_ppm) > flags.drift_ppm)
    return fmt::format("--skew-ppm {} is beyond --drift-ppm {}: the bounds would not hold; raise --drift-ppm",
                       flags.skew_ppm, flags.drift_ppm);
  return {};
}

// 1234567 as 1.235 s, 1234 as 1.234 ms, 12 as 12 µs.
std::string duration_text(std::int64_t microseconds, bool sign) {
  const double value = static_cast<double>(microseconds);
  const char* const plus = sign && microseconds >= 0 ? "+" : "";
  if (std::abs(value) >= 1e6) return fmt::format("{}{:.6f} s", plus, value / 1e6);
  if (std::abs(value) >= 1e3) return fmt::format("{}{:.3f} ms", plus, value / 1e3);
  return fmt::format("{}{} µs", plus, microseconds);
}

// For programs that read us through a pipe, a line is there when it happened.
void print_line(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

// Offsets with their bounds, a line each, on an axis that holds all of the latest ones.
class OffsetPlot {
 public:
  void add(const ClockCorrection& sync) {
    const auto bound = static_cast<std::int64_t>(sync.bound);
    latest_.push_back({sync.offset - bound, sync.offset, sync.offset + bound});
    if (latest_.size() > kept) latest_.pop_front();
    if (!fits(latest_.back())) rescale();
    print_line(line(latest_.back()));
  }

 private:
  struct Interval {
    std::int64_t low, middle, high;
  };
  static constexpr std::size_t kept = 40;
  static constexpr std::size_t label = 34;

  bool fits(const Interval& one) const { return one.low >= low_ && one.high <= high_ && high_ > low_; }

  void rescale() {
    low_ = latest_.front().low;
    high_ = latest_.front().high;
    for (const Interval& one : latest_) {
      low_ = std::min(low_, one.low);
      high_ = std::max(high_, one.high);
    }
    const std::int64_t margin = (high_ - low_) / 4 + 1;
    low_ -= margin;
    high_ += margin;
    const std::string left = duration_text(low_, true);
    const std::string right = duration_text(high_, true);
    const std::size_t taken = columns(left) + columns(right);
    print_line(paint(
        std::string(label, ' ') + left + std::string(width() > taken ? width() - taken : 1, ' ') + right,
        Colour::dim));
  }

  static std::size_t width() { return std::max<std::size_t>(20, terminal_width() - label - 2); }

  std::size_t column(std::int64_t value) const {
    const double share = static_cast<double>(value - low_) / static_cast<double>(high_ - low_);
    return static_cast<std::size_t>(share * static_cast<double>(width() - 1));
  }

  std::string line(const Interval& one) const {
    std::string text = fmt::format("{:>15} ± {}", duration_text(one.middle, true),
                                   duration_text(one.high - one.middle, false));
    text += std::string(label > columns(text) ? label - columns(text) : 1, ' ');
    for (std::size_t i = 0; i < width(); ++i) {
      const bool inside = i >= column(one.low) && i <= column(one.high);
      text += i == column(one.middle) ? "●" : inside ? "─" : " ";
    }
    return text;
  }

  std::deque<Interval> latest_;
  std::int64_t low_ = 0;
  std::int64_t high_ = 0;
};

// Reads the clock again and again.
class Reader {
 public:
  Reader(asio::io_context& loop, double every) : timer_(loop), every_(seconds(every)) {}
  void start(catalogue::LiveClock& clock) {
    if (every_.count() == 0) return;
    timer_.expires_after(every_);
    timer_.async_wait([this, &clock](const boost::system::error_code& error) {
      if (error) return;
      clock.read();
      start(clock);
    });
  }

 private:
  asio::steady_timer timer_;
  catalogue::Microseconds every_;
};

void print_reading(const Flags& flags, const ClockReading& reading) {
  if (flags.json) {
    print_line(Json{{"event", "reading"}, {"time_us", reading.time}, {"bound_us", reading.bound}}.dump());
  } else {
    print_line(fmt::format("the clock shows {}.{:06} ± {}", reading.time / 1'000'000,
                           reading.time % 1'000'000,
                           duration_text(static_cast<std::int64_t>(reading.bound), false)));
  }
}

// conclave time serve

int serve(const Flags& flags) {
  const auto listen = address_in(flags.listen, usual_port);
  if (!listen) return complain(listen.error());
  asio::io_context loop(1);
  const auto clock = catalogue::serve_time(loop, {.listen = *listen, .fault = fault_of(flags)});
  if (!clock) return complain(clock.error() + "; --listen takes another address");
  print_line(fmt::format("answering at {}", in_words((*clock)->address())));
  run_until_signal(loop);
  return ok;
}

// conclave time sync

class Sync {
 public:
  Sync(const Flags& flags, live::Address server)
      : flags_(flags), server_(std::move(server)), reader_(loop_, flags.read_every) {}

  int run() {
    auto clock = catalogue::follow_time(
        loop_,
        {.server = server_,
         .period = seconds(flags_.every),
         .timeout = seconds(flags_.timeout),
         .samples = flags_.samples,
         .drift_ppb = drift_of(flags_),
         .fault = fault_of(flags_)},
        {.corrected = [this](const ClockCorrection& sync) { on_corrected(sync); },
         .reading = [this](const ClockReading& reading) { print_reading(flags_, reading); },
         .no_answer = [this] { on_no_answer(); }});
    if (!clock) return complain(clock.error());
    clock_ = std::move(*clock);
    reader_.start(*clock_);
    run_until_signal(loop_);
    return status_;
  }

 private:
  bool goes_on() const { return flags_.watch || flags_.every_given; }

  void on_corrected(const ClockCorrection& sync) {
    if (flags_.json) {
      print_line(Json{{"event", "synchronised"},
                      {"server", in_words(server_)},
                      {"offset_us", sync.offset},
                      {"bound_us", sync.bound},
                      {"round_trip_us", sync.round_trip},
                      {"correction_us", sync.correction},
                      {"first", sync.first}}
                     .dump());
    } else if (flags_.watch) {
      plot_.add(sync);
    } else {
      print_line(fmt::format("{}: offset {} ± {}, round trip {}", in_words(server_),
                             duration_text(sync.offset, true),
                             duration_text(static_cast<std::int64_t>(sync.bound), false),
                             duration_text(sync.round_trip, false)));
    }
    status_ = ok;
    ++rounds_;
    if (flags_.rounds > 0 ? rounds_ >= flags_.rounds : !goes_on()) loop_.stop();
  }

  void on_no_answer() {
    const std::string what = fmt::format(
        "no answer from {}: is `conclave time serve --listen {}` running there, and does UDP get through?",
        in_words(server_), in_words(server_));
    if (flags_.json) {
      print_line(Json{{"event", "no_answer"}, {"server", in_words(server_)}, {"error", what}}.dump());
    } else {
      fmt::print(stderr, "conclave: {}\n", what);
    }
    status_ = property_failed;
    if (!goes_on()) loop_.stop();
  }

  const Flags& flags_;
  live::Address server_;
  asio::io_context loop_{1};
  Reader reader_;
  std::unique_ptr<catalogue::LiveClock> clock_;
  OffsetPlot plot_;
  std::uint64_t rounds_ = 0;
  int status_ = ok;
};

int sync(const Flags& flags) {
  if (const std::string wrong = wrong_with(flags); !wrong.empty()) return complain(wrong);
  auto server = address_in(flags.server, usual_port);
  if (!server) return complain(server.error());
  return Sync(flags, std::move(*server)).run();
}

// conclave time berkeley

void print_adjustment(const Flags& flags, const ClockCorrection& adjusted) {
  if (flags.json) {
    print_line(Json{{"event", "adjusted"},
                    {"id", flags.id},
                    {"master", adjusted.source.value},
                    {"round", adjusted.round},
                    {"offset_us", adjusted.offset},
                    {"bound_us", adjusted.bound},
                    {"correction_us", adjusted.correction},
                    {"first", adjusted.first}}
                   .dump());
    return;
  }
  print_line(fmt::format("master {}: this clock {} by {} ± {}", adjusted.source.value,
                         adjusted.first ? "was set" : "is corrected",
                         duration_text(adjusted.correction, true),
                         duration_text(static_cast<std::int64_t>(adjusted.bound), false)));
}

int berkeley(const Flags& flags) {
  if (const std::string wrong = wrong_with(flags); !wrong.empty()) return complain(wrong);
  auto members = members_in(flags.members);
  if (!members) return complain(members.error());
  auto key = key_in(flags.key_file);
  if (!key) return complain(key.error());
  asio::io_context loop(1);
  std::uint64_t rounds = 0;
  const auto corrected = [&](const ClockCorrection& adjusted) {
    print_adjustment(flags, adjusted);
    if (++rounds == flags.rounds) loop.stop();
  };
  const auto clock = catalogue::agree_on_time(
      loop,
      {.self = {flags.id},
       .members = std::move(*members),
       .key = std::move(*key),
       .period = seconds(flags.every),
       .longest_round_trip = seconds(flags.round_trip_ms / 1e3),
       .gamma = seconds(flags.gamma_ms / 1e3),
       .drift_ppb = drift_of(flags),
       .comes_back = flags.rejoin,
       .fault = fault_of(flags)},
      {.corrected = corrected,
       .reading = [&](const ClockReading& reading) { print_reading(flags, reading); }});
  if (!clock) return complain(clock.error());
  Reader reader(loop, flags.read_every);
  reader.start(**clock);
  run_until_signal(loop);
  return ok;
}

// What all three take.

void add_wrong_clock(CLI::App* verb, Flags& flags) {
  verb->add_option("--offset-ms", flags.offset_ms, "for experiments: this clock is ahead by so much")
      ->check(CLI::Range(-1e9, 1e9));
  verb->add_option("--skew-ppm", flags.skew_ppm, "for experiments: this clock gains so many millionths")
      ->check(CLI::Range(-1e5, 1e5));
}

void add_following(CLI::App* verb, Flags& flags, const char* every) {
  const double longest = static_cast<double>(catalogue::longest_period.count()) / 1e6;
  verb->add_option("--every", flags.every, every)->check(CLI::Range(0.01, longest));
  verb->add_option("--rounds", flags.rounds, "end after so many");
  verb->add_option("--read-every", flags.read_every,
                   "print what the corrected clock shows, every so many seconds")
      ->check(CLI::Range(0.0001, longest));
  verb->add_option("--drift-ppm", flags.drift_ppm, "the clock gains or loses no more than this [100]")
      ->check(CLI::Range(0.0, 1e5));
  verb->add_flag("--json", flags.json, "for programs: an object a line");
  add_wrong_clock(verb, flags);
}

}  // namespace

void add_time(CLI::App& app, Action& action) {
  CLI::App* time = app.add_subcommand("time", "Synchronise clocks: a time server, its clients, or a group");
  time->require_subcommand(1);
  time->footer("Examples:\n  conclave time serve\n  conclave time sync localhost --watch --every 1");

  auto flags = std::make_shared<Flags>();
  CLI::App* serving = time->add_subcommand("serve", "Answer whoever asks for this machine's time (UDP)");
  serving->add_option("--listen", flags->listen, fmt::format("host:port [127.0.0.1:{}]", usual_port));
  add_wrong_clock(serving, *flags);
  serving->footer("Example:\n  conclave time serve --listen 0.0.0.0:7037");
  serving->callback([flags, &action] { action = [flags] { return serve(*flags); }; });

  CLI::App* syncing = time->add_subcommand("sync", "Follow a time server by Cristian's algorithm");
  syncing->add_option("SERVER", flags->server, "host or host:port of conclave time serve")->required();
  syncing->add_option("--samples", flags->samples, "round trips each time, the quickest counts [4]")
      ->check(CLI::Range(1, 1000));
  syncing->add_option("--timeout", flags->timeout, "seconds after which an answer is given up [0.5]")
      ->check(CLI::Range(0.001, 60.0));
  add_following(syncing, *flags, "go on, and synchronise every so many seconds [10]");
  syncing->add_flag("--watch", flags->watch, "plot offset and bound, line by line")->excludes("--json");
  syncing->footer(
      "Examples:\n  conclave time sync timehost\n  conclave time sync timehost:7037 --every 1 --watch");
  syncing->callback([flags, syncing, &action] {
    flags->every_given = syncing->count("--every") > 0;
    action = [flags] { return sync(*flags); };
  });

  CLI::App* agreeing =
      time->add_subcommand("berkeley", "Keep the clocks of a group together by the Berkeley algorithm (UDP)");
  agreeing->add_option("--id", flags->id, "which member this is")->required();
  agreeing->add_option("--members", flags->members, "all of them: 1=host:port,2=host:port,…")->required();
  agreeing->add_option("--key-file", flags->key_file, "a secret that all members share");
  agreeing->add_option("--round-trip-ms", flags->round_trip_ms, "longest round trip to learn from [50]")
      ->check(CLI::Range(0.1, 10'000.0));
  agreeing->add_option("--gamma-ms", flags->gamma_ms, "clocks further apart do not count together [25]")
      ->check(CLI::Range(0.0, 1e9));
  agreeing->add_flag("--rejoin", flags->rejoin,
                     "another process with this id ran before: wait for the master");
  add_following(agreeing, *flags, "seconds from round to round [10]");
  agreeing->footer(
      "Example:\n  conclave time berkeley --id 1 --members "
      "1=127.0.0.1:7101,2=127.0.0.1:7102,3=127.0.0.1:7103");
  agreeing->callback([flags, &action] { action = [flags] { return berkeley(*flags); }; });
}

}  // namespace conclave::cli
