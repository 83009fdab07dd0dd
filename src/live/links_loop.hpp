// Inside of links.hpp: the links of one member, their connections, and the loop that drives them. How
// connections come about is in links_door.cpp, what happens on them in links_session.cpp, the rest in
// links.cpp.
#pragma once
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "live/connection.hpp"
#include "live/handshake.hpp"
#include "live/links.hpp"

namespace conclave::live {

class Links::Loop : public std::enable_shared_from_this<Links::Loop> {
 public:
  using tcp = boost::asio::ip::tcp;
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  using Error = boost::system::error_code;
  using Side = Connection::Side;

  Loop(boost::asio::io_context& loop, LinkOptions options, Events events, Log log);
  ~Loop();
  std::expected<void, std::string> begin();

  void send(NodeId to, ByteView payload);
  void object(NodeId peer, const Refusal& why);
  LinkStatus status(NodeId id) const;
  DoorStatus door() const { return door_; }
  void add_peer(const Peer& peer, std::uint64_t data);
  void remove_peer(NodeId id);
  void change_list(NodeId greatest);
  void welcome(bool unknown) { terms_.welcoming = unknown; }
  bool knows(NodeId id) const { return find(id) != nullptr; }
  std::vector<NodeId> peers() const;
  std::uint64_t incarnation() const { return options_.incarnation; }

  struct Link;
  // One connection from its first packet to its last.
  struct Session {
    enum class Phase { connecting, greeting, established, parting, gone };
    Phase phase = Phase::connecting;
    Side side = Side::dialler;
    Link* link = nullptr;  // the dialler knows it from the start, the acceptor when the handshake is done
    std::optional<tcp::socket> connecting = {};
    std::shared_ptr<Connection> connection = {};
    std::optional<Handshake> handshake = {};
    Bytes outbox = {};  // as it goes over the wire: of the handshake, and what was sealed
    std::size_t outbox_sent = 0;
    std::optional<Seal> seal = {};       // of what follows the handshake
    std::vector<std::byte> opened = {};  // what was under it, up to a frame that has not come in full
    std::uint64_t greeted = 0;           // when our hello left
    boost::asio::ip::address from = {};
    Time deadline = {};

    bool stranger() const { return side == Side::acceptor && phase != Phase::established; }
    ByteView unsent() const { return bytes_of(outbox).subspan(outbox_sent); }
    void sent(std::size_t bytes);
  };

  struct Link {
    Peer peer;
    Address dialled;  // where the peer is reached
    bool dials;       // we dial, not the peer
    LinkState state;
    Silence silence;
    Redial redial;
    std::uint64_t data = 0;                 // which it has, if it has said so
    std::shared_ptr<Session> session = {};  // established
    std::optional<Time> dial_at = {};       // unset while dialling, connected, or being dialled
    std::optional<Time> ack_at = {};
    boost::asio::ip::address proven_at = {};  // where the peer was when it last proved who it is
    Time rests_until = {};                    // the peer said what cannot be
    bool resolving = false;
    bool told_up = false;
    bool dirty = false;          // something waits for the end of this turn
    bool overflowed = false;     // … to be reported
    bool was_congested = false;  // … and the owner waits to hear that it is over
    bool wrote = false;          // since the last beat
    std::array<std::byte, alive_bytes> control = {};
    std::size_t control_left = 0;
    LinkStatus status = {};

    std::string name() const { return std::to_string(peer.id.value); }
    bool mid_frame() const {
      return !state.window().between_messages() || (control_left > 0 && control_left < control.size());
    }
  };

  const Link& link(NodeId id) const;

 private:
  using SessionPointer = std::shared_ptr<Session>;
  using Phase = Session::Phase;

  // Listening and dialling.
  std::expected<void, std::string> listen();
  void accept();
  void on_accept(const Error& error, tcp::socket socket);
  bool make_room_at_the_door(const boost::asio::ip::address& from);
  void dial(Link& link);
  void connect(const SessionPointer& session, std::vector<tcp::endpoint> endpoints);
  void on_connect(const SessionPointer& session, const Error& error);
  SessionPointer add_session(Side side);
  void start(const SessionPointer& session, tcp::socket socket);

  // The life of a session.
  void on_ready(Session& session);
  static bool listens(const Session& session);
  std::size_t on_bytes(Session& session, ByteView bytes);
  std::size_t most_body(const Session& session) const;
  void on_record(Session& session, const Frame& record);
  void on_frame(Session& session, const Frame& frame);
  void on_greeting(Session& session, const Frame& frame);
  void on_refused(Session& session, const Frame& frame);
  void on_data(Session& session, const Frame& frame);
  void on_alive(Session& session, const Frame& frame);
  void after_reading(Link& link);
  void establish(Session& session);
  void report(Link& link, const LinkState::Meeting& meeting);
  void refuse(Session& session, const Refusal& refusal);
  void turn_back(Session& session, const Refusal& refusal);
  void stop_dialling(const Link& link);
  void dismiss(Session& session, const Refusal& refusal);
  void drop(Session& session, std::string_view why);
  void detach(Session& session);
  void count_refusal(Link& link, std::string text);

  // Writing.
  void mark_dirty(Link& link);
  void end_turn();
  void write_out(Session& session);
  void seal_more(Session& session, Link& link);
  void say_alive(Link& link);
  void break_promise(Link& link, const std::string& why);

  // Time.
  void wake_at(Time time);
  void on_alarm();
  void beat(Time now);
  void beat_link(Link& link, LinkOptions::Duration elapsed);
  void expire_sessions(Time now);

  Link* find(NodeId id) const;
  Link& make_link(const Peer& peer);
  void plan_dial(Link& link, LinkOptions::Duration after);
  void reap(NodeId id);
  std::optional<Refusal> verdict(const Card& theirs) const;
  // Whether whoever finished a handshake is a member, and not only says so.
  bool proves() const { return !options_.key.empty() || options_.tls.wanted(); }
  Standing standing(NodeId peer) const;
  void count_door();
  void say(LogLevel level, std::string_view text) const {
    if (log_) log_(level, text);
  }
  void say_of_stranger(const Session& session, std::string_view text);

  boost::asio::io_context& loop_;
  LinkOptions options_;
  Events events_;
  Log log_;
  Terms terms_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
  ChunkPool pool_;
  std::vector<std::unique_ptr<Link>> links_;  // by ascending id
  std::vector<SessionPointer> sessions_;      // in order of arrival
  std::vector<Link*> dirty_;
  tcp::acceptor acceptor_;
  tcp::resolver resolver_;
  boost::asio::steady_timer alarm_;
  Time alarm_time_ = Time::max();
  Time last_beat_ = {};
  std::optional<Time> accept_at_ = {};
  bool turn_ends_ = false;
  std::uint64_t moments_ = 0;  // hellos and meetings so far
  DoorStatus door_ = {};
  unsigned stranger_lines_ = 0;
  std::uint64_t stranger_lines_left_out_ = 0;
};

}  // namespace conclave::live
