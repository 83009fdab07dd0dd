// One server of a protocol that survives crashes, for the live world: takes its steps, and keeps the order
// that they rely on. What a step persists is on disk before what it sends leaves; what it sends at once does
// not wait; and the server hears when its disk has caught up.
//
//   auto replica = live::Replica<P>::open(loop, options, {.send = …, .event = …, .failed = …});
//   (*replica)->command(Propose{…});
//   (*replica)->deliver(from, bytes);
//
// While one flush of the disk runs, the writes of all further steps gather for the next. Everything happens
// on the thread that runs the loop, but the flushing.
//
// A notice, where the protocol has some, waits for the end of a turn of the loop: a later one replaces it,
// and it does not leave at all if something has that says as much. To everybody else it is as if the link had
// lost it.
//
// A server that is traced writes every step down before anything comes of it, and its messages end with a
// stamp; nobody else's do.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/codec.hpp"
#include "core/protocol.hpp"
#include "core/visit.hpp"
#include "live/frames.hpp"
#include "live/scribe.hpp"
#include "live/timers.hpp"
#include "storage/drafts.hpp"
#include "storage/flusher.hpp"
#include "storage/segmented_log.hpp"
#include "storage/snapshots.hpp"

namespace conclave::live {

// How a protocol's writes are kept in a log whose older part is given up from time to time, and what of them
// is so large that it gets a file of its own.
template <class P>
concept KeptInSegments = Recovers<P> && HearsOfDisk<P> &&
    requires(const P& node, typename P::Write& write, typename P::Durable& durable) {
  { P::greatest_index(write) } -> std::convertible_to<std::uint64_t>;  // that the write is about
  { node.preamble() } -> std::same_as<typename P::Write>;  // what must be known if older writes are gone
  { node.oldest_index() } -> std::convertible_to<std::uint64_t>;  // writes about no more than this may go
  { P::bulk(write) } -> std::same_as<Bulk*>;                      // none: there is none
  { P::bulk(durable) } -> std::same_as<Bulk*>;
} && requires(P& node) {
  { P::bulk(node) } -> std::same_as<Bulk*>;      // that it kept last
  { P::arriving(node) } -> std::same_as<Bulk*>;  // that comes from somebody else, as far as it has come
  { node.arriving_index() } -> std::convertible_to<std::uint64_t>;  // what it will be about
};

// A protocol some of whose messages are there only to be early: what they say, each later one of them, and
// some others, say to the same server too. What is sent at once may be one of them.
template <class P>
concept SendsNotices = requires(const typename P::Message& message) {
  { P::is_notice(message) } -> std::same_as<bool>;
  { P::gives_notice(message) } -> std::same_as<bool>;  // without being one
};

struct ReplicaOptions {
  NodeId self = {};
  NodeSet members = {};
  std::string data = {};   // the directory
  std::string stamp = {};  // whose data that is
  std::uint64_t seed = 1;
  std::chrono::nanoseconds tick = usual_tick;
  storage::LogOptions log = {};
  storage::FlusherOptions flusher = {};
};

template <Protocol P>
  requires KeptInSegments<P>
class Replica {
 public:
  using Message = typename P::Message;
  using Command = typename P::Spec::Command;
  using Event = typename P::Spec::Event;
  using Write = typename P::Write;
  using Mark = decltype(P::mark(std::declval<const Write&>()));

  struct Ports {
    std::function<void(NodeId to, ByteView message)> send;
    std::function<void(const Event&)> event;              // may give commands
    std::function<void(const storage::Failure&)> failed;  // the disk; nothing is sent after it
    // The disk has no room, or something else is wanting: what is written waits. Without a failure: it goes
    // on. May be left out.
    std::function<void(const std::optional<storage::Failure>&)> waits = {};
    // What speaks against a message of a peer, in a sentence; empty: nothing. May be left out among those who
    // trust each other.
    std::function<std::string(const P& node, NodeId from, const Message&)> objection = {};
    // Of who is traced: where its part goes. Asked once; whoever finds its directory there comes back.
    std::function<std::expected<Page, std::string>(bool comes_back)> trace = {};
  };

  // Reads what the disk has, and begins. Events may be told before it returns.
  static std::expected<std::unique_ptr<Replica>, storage::Failure> open(boost::asio::io_context& loop,
                                                                        const ReplicaOptions& options,
                                                                        const typename P::Setup& setup,
                                                                        Ports ports) {
    std::unique_ptr<Replica> replica(new Replica(loop, options, std::move(ports)));
    if (auto begun = replica->begin(options, setup); !begun) return std::unexpected(begun.error());
    return replica;
  }
  // What was written is flushed; nobody hears of it any more.
  ~Replica() {
    *alive_ = false;
    intake_.reset();
    flusher_.reset();
  }

  const P& node() const { return node_; }
  std::uint64_t data() const { return directory_->id(); }  // which directory this is
  const storage::Directory& directory() const { return *directory_; }

  void command(const Command& command) {
    step([&] { visit_in_place(command, [&](const auto& which) { node_.on_command(out_, which); }); },
         [&](auto& act) { scribe_->command(node_, out_, command, act); });
  }
  // A file for a state that is about to be saved: what was written to it may be given as a command, and lies
  // on the disk then. The events come on the loop, as long as the draft is there.
  storage::Result<std::unique_ptr<storage::Draft>> draft(std::uint64_t tag, storage::Draft::Events events) {
    const auto on_loop = [this](auto act) {
      return [this, act = std::move(act)](auto&&... what) {
        auto shared = std::make_shared<std::tuple<std::decay_t<decltype(what)>...>>(
            std::forward<decltype(what)>(what)...);
        boost::asio::post(loop_, [alive = alive_, act, shared] {
          if (*alive && act) std::apply([&](auto&... all) { act(std::move(all)...); }, *shared);
        });
      };
    };
    return drafts_->begin({.tag = tag}, {.room = on_loop(events.room), .ended = on_loop(events.ended)});
  }
  // Says why it is not taken: the bytes are no message of this protocol, or one that cannot be.
  std::expected<void, std::string> deliver(NodeId from, ByteView bytes) {
    if (dead_) return {};
    Decoder decoder(numbers_of(bytes));
    walk(decoder, received_);
    if (decoder.failed()) return unreadable();
    std::optional<Stamp> stamp;
    if (!decoder.rest().empty()) {
      walk(decoder, stamp.emplace());
      if (!decoder.failed()) decoder.finish();
      if (decoder.failed()) return unreadable();
    }
    if (ports_.objection) {
      if (std::string no = ports_.objection(node_, from, received_); !no.empty())
        return std::unexpected(std::move(no));
    }
    step([&] { visit_in_place(received_, [&](const auto& which) { node_.on_message(out_, from, which); }); },
         [&](auto& act) {
           if (stamp && !scribe_->wrong_with(from, *stamp).empty()) stamp.reset();
           scribe_->deliver(node_, out_, from, received_, stamp, act);
         });
    return {};
  }
  // Nothing more is written of it.
  void end_trace(std::string broken = {}) {
    if (scribe_) scribe_->end(false, std::move(broken));
    scribe_.reset();
  }

  const storage::Latencies& disk() const { return flusher_->latencies(); }
  storage::LogStatus log_status() const { return flusher_->status(); }
  std::uint64_t flushes() const { return flushes_; }

 private:
  static std::unexpected<std::string> unreadable() {
    return std::unexpected(std::string("a message that cannot be read"));
  }

  struct Unsynced {
    std::uint64_t number;  // of the flush that it waits for
    Mark mark;
    std::uint64_t steps = 0;  // that wrote
  };
  struct Waiting {
    std::uint64_t number;
    NodeId to;
    Bytes bytes;
  };

  Replica(boost::asio::io_context& loop, const ReplicaOptions& options, Ports ports)
      : loop_(loop),
        ports_(std::move(ports)),
        timers_(
            loop, options.seed, [this](const typename P::Timer& timer) { fire(timer); }, options.tick) {}

  std::expected<void, storage::Failure> begin(const ReplicaOptions& options, const typename P::Setup& setup) {
    auto directory = storage::Directory::open(options.data, {.stamp = options.stamp});
    if (!directory) return std::unexpected(directory.error());
    directory_ = std::move(*directory);
    std::optional<typename P::Durable> durable;
    std::optional<storage::Failure> unreadable;
    auto log = storage::SegmentedLog::open(*directory_, options.log, [&](const storage::Replayed& replayed) {
      auto write = decode<Write>(numbers_of(replayed.bytes));
      if (write) return take_write<P>(durable, std::move(*write));
      unreadable = {storage::FailureKind::damaged,
                    "a record of the log is none of this protocol: " + std::string(describe(write.error()))};
    });
    if (!log) return std::unexpected(log.error());
    if (unreadable) return std::unexpected(*unreadable);
    auto snapshots = storage::Snapshots::open(*directory_);
    if (!snapshots) return std::unexpected(snapshots.error());
    snapshots_.emplace(std::move(*snapshots));
    drafts_.emplace(*snapshots_);
    if (durable) {
      if (auto read = read_bulk(*durable); !read) return read;
    }
    const bool comes_back = !directory_->is_new();
    if (auto traced = begin_trace(options.self, comes_back); !traced) return traced;
    flusher_ = std::make_unique<storage::Flusher>(std::move(*log), options.flusher, flusher_events());
    step(
        [&] {
          node_ = durable ? P::recover(options.self, options.members, setup, *durable, out_)
                          : P::start(options.self, options.members, setup, out_);
          renew_preamble();
        },
        [&](auto& act) {
          if (comes_back) return scribe_->recover(node_, out_, durable.has_value(), act);
          scribe_->start(node_, out_, act);
        });
    return {};
  }

  std::expected<void, storage::Failure> begin_trace(NodeId self, bool comes_back) {
    if (!ports_.trace) return {};
    auto page = ports_.trace(comes_back);
    if (!page) return std::unexpected(storage::Failure{storage::FailureKind::io, page.error()});
    scribe_.emplace(std::move(*page), self);
    return {};
  }

  storage::Flusher::Events flusher_events() {
    const auto post = [this](auto act) {
      boost::asio::post(loop_, [alive = alive_, act = std::move(act)] {
        if (*alive) act();
      });
    };
    return {.durable = [this, post](std::uint64_t number) { post([this, number] { durable(number); }); },
            .failed = [this, post](const storage::Failure& why) { post([this, why] { fail(why); }); },
            .waits =
                [this, post](const storage::Failure& why) {
                  post([this, why] {
                    if (ports_.waits) ports_.waits(why);
                  });
                },
            .goes_on =
                [this, post] {
                  post([this] {
                    if (ports_.waits) ports_.waits({});
                  });
                }};
  }

  void fire(const typename P::Timer& timer) {
    step([&] { node_.on_timer(out_, timer); },
         [&](auto& act) { scribe_->fire(node_, out_, timer, causes_[timer], act); });
  }

  // What a step asks for is carried out before the next one begins. Events may give commands: those wait.
  // `tell` takes the step as well, and writes it down.
  template <class Act, class Tell>
  void step(Act&& act, Tell&& tell) {
    if (dead_) return;
    try {
      if (scribe_) [[unlikely]] {
        tell(act);
      } else {
        out_.clear();
        act();
      }
    } catch (const Unreadable& why) {
      return fail({storage::FailureKind::damaged, why.what()});
    }
    settle();
    if (!scribe_) put_aside();
    while (!busy_ && !told_.empty()) {
      busy_ = true;
      for (std::vector<Event> events; !told_.empty();) {
        events.swap(told_);
        for (const Event& event : events) ports_.event(event);
        events.clear();
      }
      busy_ = false;
    }
  }

  void settle() {
    std::size_t nth = 0;
    for (const auto& send : out_.early) {
      encode_into(send.message, nth++);
      if (!waits_for_end_of_turn(send)) ports_.send(send.to, bytes_of(bytes_));
    }
    for (Write& write : out_.writes) persist(write);
    if (!out_.writes.empty() && !dead_) ++unsynced_.back().steps;
    for (const auto& send : out_.sends) {
      encode_into(send.message, nth++);
      if (durable_ == submitted_ && !appended_) {
        ports_.send(send.to, bytes_of(bytes_));
      } else {
        waiting_.push_back({submitted_ + (appended_ ? 1 : 0), send.to, bytes_});
      }
    }
    if (!out_.more) return;
    for (const auto timer : out_.disarmed) timers_.disarm(timer);
    for (const auto& arm : out_.armed) {
      timers_.arm(arm.timer, arm.after);
      if (scribe_) causes_[arm.timer] = scribe_->last_step();
    }
    for (Event& event : out_.events) told_.push_back(std::move(event));
  }

  bool waits_for_end_of_turn(const typename Effects<P>::Send& send) {
    if constexpr (SendsNotices<P>) {
      if (P::gives_notice(send.message)) notices_.erase(send.to);
      if (!P::is_notice(send.message)) return false;
      notices_[send.to] = bytes_;
      at_end_of_turn(notices_wait_, [this] { send_notices(); });
      return true;
    }
    return false;
  }
  void send_notices() {
    notices_wait_ = false;
    for (const auto& [to, bytes] : std::exchange(notices_, {})) {
      if (!dead_) ports_.send(to, bytes_of(bytes));
    }
  }
  template <class Act>
  void at_end_of_turn(bool& planned, Act&& act) {
    if (std::exchange(planned, true)) return;
    boost::asio::post(loop_, [alive = alive_, act] {
      if (*alive) act();
    });
  }

  void persist(Write& write) {
    const Mark mark = P::mark(write);
    if (Bulk* const bulk = P::bulk(write)) {
      auto kept = keep_bulk(*bulk, P::greatest_index(write));
      if (!kept) return fail(kept.error());
      // Nobody needs it in memory any more, unless all that changes is written down.
      if (Bulk* const ours = P::bulk(node_); ours && !scribe_) *ours = std::move(*kept);
      *bulk = {};
      has_snapshot_ = true;
    }
    bytes_.clear();
    encode(write, bytes_);
    flusher_->append({bytes_of(bytes_)}, P::greatest_index(write));
    at_end_of_turn(appended_, [this] { flush(); });
    if (unsynced_.empty() || unsynced_.back().number != submitted_ + 1) {
      unsynced_.push_back({submitted_ + 1, mark});
    } else {
      unsynced_.back().mark = mark;
    }
  }

  // At the end of a turn of the loop: what was sent at once has left by now.
  void flush() {
    appended_ = false;
    renew_preamble();
    submitted_ = flusher_->submit();
    ++flushes_;
    if (std::exchange(has_snapshot_, false)) flusher_->release(node_.oldest_index());
  }
  // With which a segment begins that begins with the next flush.
  void renew_preamble() {
    bytes_.clear();
    encode(node_.preamble(), bytes_);
    flusher_->set_preamble(bytes_of(bytes_));
  }

  void durable(std::uint64_t number) {
    if (dead_) return;
    durable_ = number;
    while (!waiting_.empty() && waiting_.front().number <= number) {
      ports_.send(waiting_.front().to, bytes_of(waiting_.front().bytes));
      waiting_.pop_front();
    }
    std::optional<Mark> last;
    std::uint64_t steps = 0;
    while (!unsynced_.empty() && unsynced_.front().number <= number) {
      last = unsynced_.front().mark;
      steps += unsynced_.front().steps;
      unsynced_.pop_front();
    }
    if (!last) return;
    step([&] { node_.on_synced(out_, *last); }, [&](auto& act) { scribe_->synced(node_, out_, steps, act); });
  }

  // A state of another member on its way to the disk. It can be read when all of it has arrived.
  struct Intake {
    struct Place final : Bulk::Place {
      Bulk bytes = {};
      void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
        ensure(bytes.size() >= offset + into.size(), "what is read has arrived");
        std::ranges::copy(bytes.part(offset, into.size()).bytes(), into.begin());
      }
    };
    std::unique_ptr<storage::Draft> draft;
    std::shared_ptr<Place> place = std::make_shared<Place>();
    std::uint64_t bytes = 0;

    void take(const Bulk& state) {
      const auto news = state.in_memory().bytes();
      draft->append({news.begin(), news.end()});
      bytes = state.size();
    }
  };
  // What comes of it is not kept in memory. A disk that takes it more slowly holds up the loop: who lacks the
  // state has nothing better to do.
  void put_aside() {
    Bulk* const arriving = P::arriving(node_);
    if (!arriving) return intake_.reset();
    if (arriving->in_memory().empty()) return;
    const std::uint64_t tag = node_.arriving_index();
    const std::uint64_t before = arriving->size() - arriving->in_memory().size();
    if (!intake_ || intake_->draft->tag() != tag || intake_->bytes != before) {
      intake_.reset();
      ensure(before == 0, "what is not in memory was put aside");
      auto draft = drafts_->receive({.tag = tag}, {});
      if (!draft) return fail(draft.error());
      intake_.emplace(Intake{.draft = std::move(*draft)});
    }
    intake_->take(*arriving);
    arriving->move_to(intake_->place);
    intake_->draft->wait_for_room();
  }

  // What is there already, or in the middle of being written, is not written again.
  std::expected<Bulk, storage::Failure> keep_bulk(const Bulk& bulk, std::uint64_t tag) {
    if (intake_ && intake_->draft->tag() == tag) return keep_intake(bulk);
    auto tags = snapshots_->tags();
    if (!tags) return std::unexpected(tags.error());
    if (std::ranges::find(*tags, tag) != tags->end()) return bulk;
    auto writer = snapshots_->begin({.tag = tag});
    if (!writer) return std::unexpected(writer.error());
    constexpr std::uint64_t step = 1 << 20;
    for (std::uint64_t at = 0; at < bulk.size(); at += step)
      if (auto written = writer->append(std::as_bytes(bulk.part(at, step).bytes())); !written)
        return std::unexpected(written.error());
    auto reader = writer->finish_and_read();
    if (!reader) return std::unexpected(reader.error());
    return storage::bulk_of(std::move(*reader));
  }
  std::expected<Bulk, storage::Failure> keep_intake(const Bulk& bulk) {
    if (intake_->bytes < bulk.size()) intake_->take(bulk);
    auto reader = intake_->draft->end_and_wait(storage::Draft::Fate::keep);
    if (!reader) return std::unexpected(reader.error());
    intake_->place->bytes = storage::bulk_of(std::move(*reader));
    const Bulk kept(intake_->place, 0, bulk.size());
    intake_.reset();
    return kept;
  }

  std::expected<void, storage::Failure> read_bulk(typename P::Durable& durable) {
    Bulk* const bulk = P::bulk(durable);
    if (!bulk) return {};
    auto reader = snapshots_->read(P::greatest_index(durable));
    if (!reader) return std::unexpected(reader.error());
    *bulk = storage::bulk_of(std::move(*reader));
    if (ports_.trace) *bulk = Bulk(bulk->whole());  // what is traced is written down
    return {};
  }

  void fail(const storage::Failure& why) {
    if (std::exchange(dead_, true)) return;
    ports_.failed(why);
  }

  void encode_into(const Message& message, std::size_t nth) {
    bytes_.clear();
    encode(message, bytes_);
    if (scribe_) encode(scribe_->stamp(nth), bytes_);
  }

  boost::asio::io_context& loop_;
  Ports ports_;
  std::unique_ptr<storage::Directory> directory_;
  std::optional<storage::Snapshots> snapshots_;
  std::optional<storage::Drafts> drafts_;
  std::optional<Intake> intake_;
  Timers<typename P::Timer> timers_;
  P node_ = {};
  Effects<P> out_;
  Message received_ = {};
  Bytes bytes_;
  std::vector<Event> told_;
  bool busy_ = false;  // telling events
  bool dead_ = false;
  bool appended_ = false;      // and not submitted
  bool has_snapshot_ = false;  // since the last flush
  bool notices_wait_ = false;
  std::uint64_t submitted_ = 0;
  std::uint64_t durable_ = 0;
  std::uint64_t flushes_ = 0;
  std::map<NodeId, Bytes> notices_;  // of this turn, to whom nothing else has said it
  std::deque<Waiting> waiting_;
  std::deque<Unsynced> unsynced_;
  std::optional<Scribe<P>> scribe_;                    // while somebody reads along
  std::map<typename P::Timer, std::uint64_t> causes_;  // then, the steps that armed the timers
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<storage::Flusher> flusher_;  // the last to be made, the first to go
};

}  // namespace conclave::live
