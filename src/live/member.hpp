// One member of a group: its links, and one process of the engine's protocol for each name that is in use.
//
//   auto member = live::Member::open(loop, options, engine, log);
//   (*member)->listen({.granted = …});
//   (*member)->acquire("printer");
//
// Names come into being when somebody asks for them, and are forgotten when nobody has for a while. What
// happens when a member dies: engines in epochs wait for it, or until an operator evicts it, or leave it out
// by themselves (`regenerates`), and begin anew without it; see renewal.hpp. The others look after
// themselves.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "live/group.hpp"
#include "live/links.hpp"
#include "live/member_wire.hpp"
#include "live/process.hpp"
#include "live/timers.hpp"

namespace conclave::live {

struct MemberOptions {
  LinkOptions links = {};  // `algorithm` is the engine's name
  std::chrono::nanoseconds forget_after = std::chrono::seconds(60);
  std::size_t most_names = 100'000;
  std::string trace = {};  // a file, and FILE.server for the server of an algorithm that has one
  std::uint64_t first_epoch =
      0;  // epochs begin above this; 0: by the clock, so that fences outlive all processes
};

class Member final : public Group {
 public:
  static std::expected<std::unique_ptr<Member>, std::string> open(boost::asio::io_context& loop,
                                                                  MemberOptions options, Engine engine,
                                                                  Log log);
  ~Member() override;

  Kind kind() const override { return engine_.elects ? Kind::elections : Kind::locks; }
  void listen(GroupEvents events) override { told_ = std::move(events); }
  void acquire(const std::string& name) override;
  void release(const std::string& name) override;
  void take_part(const std::string& name) override;
  std::optional<NodeId> leader(const std::string& name) const override;
  void note(NodeId to, ByteView note) override;
  GroupStatus status() const override;
  std::expected<std::uint64_t, std::string> evict(NodeId member, std::uint64_t incarnation) override;
  void promise_longest_lease(std::chrono::nanoseconds lease, std::move_only_function<void()> then) override;

 private:
  using Clock = std::chrono::steady_clock;
  class Name;  // one lock or election
  struct PeerState {
    bool up = false;
    bool met = false;
    std::uint64_t incarnation = 0;
    Clock::time_point since = {};
    std::chrono::nanoseconds longest_lease = {};  // as it promised
    std::uint64_t noted_ms = 0;                   // what it knows of ours
    bool promise_broken = false;                  // and nobody has acted on it yet
    SightHead sight = {};                         // as it last told
  };
  struct Promise {
    std::uint64_t lease_ms;
    std::move_only_function<void()> then;
  };
  using NameTimer = std::pair<std::uint64_t, std::uint32_t>;  // serial of the name's process, timer

  Member(boost::asio::io_context& loop, MemberOptions options, Engine engine, Log log);

  Name& name(const std::string& name);
  Name* find(const std::string& name);
  std::vector<Name*> all_names();

  void on_message(NodeId from, ByteView payload);
  void on_inner(NodeId from, ByteView body);
  void on_ready(NodeId from, ByteView body);
  void on_gone(NodeId from, ByteView body);
  void on_roster(NodeId from, ByteView body);
  void on_promise(NodeId from, ByteView body);
  void on_noted(NodeId from, ByteView body);
  void on_mention(NodeId from, ByteView body);
  void on_sight(NodeId from, ByteView body);
  void unreadable(NodeId from, std::string_view what);
  void one_name_too_many(NodeId from);
  void on_up(NodeId peer, std::uint64_t incarnation);
  void on_down(NodeId peer);
  void on_broken_promise(NodeId peer, const std::string& why);

  // Whatever a peer has to know that meets us, or may have missed something.
  void greet(NodeId peer);

  // Somebody's clients may go on without it for this long: no epoch is left before.
  void wait_out(NodeId peer, std::chrono::nanoseconds until_it_notices);
  void be_quiet_until(Clock::time_point end);
  bool waiting_out() const { return Clock::now() < quiet_until_; }
  void on_quiet_over();
  void renew_where(NodeId peer);

  std::expected<std::uint64_t, std::string> leave_out(NodeId member, std::uint64_t incarnation);
  void set_standing(NodeId member, Membership standing);
  void spread_roster();
  void roster_changed();
  void give_up_everything(const std::string& why);
  void come_back();
  void leave_out_the_dead();
  bool stood_still();
  void look_after_traces();
  NodeSet absent() const;

  SightHead sight() const;
  void share_sight();
  // Whom that member hears, as far as those whom we hear know; nothing if none of them hears it.
  std::optional<NodeSet> hears(NodeId member) const;
  // Members that we do not hear and others do: it is the link that is broken.
  NodeSet cut_off_from() const;
  bool yields_to(NodeId member) const;
  bool with_majority() const;
  std::uint64_t membership_epoch() const;

  void tend();  // once in a while: forget names, leave out the dead
  void send(NodeId to);
  void settle_promises();
  void bury(std::unique_ptr<Process> process);

  boost::asio::io_context& loop_;
  MemberOptions options_;
  Engine engine_;
  Log log_;
  NodeId self_;
  NodeSet everyone_;
  Clock::time_point started_ = Clock::now();
  GroupEvents told_;
  std::unique_ptr<Links> links_;
  std::map<NodeId, PeerState> peers_;
  std::map<NodeId, Membership> roster_;
  std::unordered_map<std::string, std::unique_ptr<Name>> names_;
  std::unordered_map<std::uint64_t, Name*> by_serial_;  // whose timers
  std::uint64_t serials_ = 0;
  std::uint64_t floor_ = 0;  // of epochs of names that were forgotten
  Timers<NameTimer> timers_;
  Clock::time_point quiet_until_ = {};
  Clock::time_point tended_ = Clock::now();
  boost::asio::steady_timer quiet_over_;
  boost::asio::steady_timer tending_;
  SightHead shared_;  // what the others know of our sight
  std::uint64_t promised_ms_ = 0;
  std::deque<Promise> promises_;
  std::vector<std::unique_ptr<Process>> graveyard_;  // until no call of theirs is under way
  std::ofstream trace_;
  std::ofstream server_trace_;
  bool trace_ended_ = false;  // the disk is full, say
  Bytes word_;                // what is being written
  InnerHead inner_;           // what is being read
  std::uint64_t draws_ = 0;
  std::uint64_t messages_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // what was posted sees when we are gone
};

}  // namespace conclave::live
