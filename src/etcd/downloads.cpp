#include "etcd/downloads.hpp"

#include <algorithm>
#include <string_view>

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

// Different ones, for those who save them; and only one if it is as large as that.
constexpr std::size_t most_states = 2;
constexpr std::size_t large_state = std::size_t{32} << 20;
constexpr std::size_t blob_bytes = 32 * 1024;
constexpr std::size_t page_bytes = 512;  // etcd's client wants whole pages, and the digest after them

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

struct Downloads::Download {
  Download(Downloads& of_whom, rpc::CallerPtr to, std::shared_ptr<State> what)
      : of(of_whom), alive(of_whom.alive_), caller(std::move(to)), state(std::move(what)) {
    pages = (state->saved.state.size() + page_bytes - 1) / page_bytes * page_bytes;
    // Whoever shares a state has a part of its memory. A state that is larger than all clients may have has
    // to be sent, too.
    shares = std::max<std::size_t>(++state->takers, pages / std::max<std::size_t>(caller->room(), 1) + 1);
    ++of.under_way_;
    reserve();
  }
  ~Download() {
    if (!*alive) return;
    --of.under_way_;
    state.reset();
    of.make_state();
  }
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  void reserve() const { caller->reserve((pages - sent) / shares); }
  // The next of it, filled up to whole pages.
  std::string next() {
    const std::size_t size = std::min(blob_bytes, pages - sent);
    std::string blob(text_of(state->saved.state.part(sent, size).bytes()));
    blob.resize(size);
    sent += size;
    return blob;
  }

  Downloads& of;
  const std::shared_ptr<bool> alive;
  const rpc::CallerPtr caller;
  std::shared_ptr<State> state;
  std::size_t pages = 0;   // bytes of them
  std::size_t shares = 1;  // into which its memory was divided when this began
  std::size_t sent = 0;
  Sha256 digest = {};  // of what was sent
};

Downloads::Downloads(Machine& machine, rpc::Slices& slices, Head head)
    : machine_(machine), slices_(slices), head_(std::move(head)) {}

Downloads::~Downloads() { *alive_ = false; }

void Downloads::begin(const rpc::CallerPtr& caller) {
  for (const std::weak_ptr<State>& weak : states_) {
    const auto state = weak.lock();
    if (state && state->saved.index == machine_.store().applied().index) return give(state, caller);
  }
  forget_the_gone();
  waiting_.push_back(caller);
  make_state();
}

// Who came to be told, and left: as many at a time as there are others.
void Downloads::forget_the_gone() {
  std::erase_if(states_, [](const auto& state) { return state.expired(); });
  if (waiting_.size() < most_waiting_) return;
  std::erase_if(waiting_, [](const auto& caller) { return caller->over(); });
  most_waiting_ = 64 + 2 * waiting_.size();
}

// One at a time. Who asks after it was begun would be given what was before.
void Downloads::make_state() {
  forget_the_gone();
  const bool is_large = std::ranges::any_of(states_, [](const auto& weak) {
    const auto state = weak.lock();
    return state && state->saved.state.size() >= large_state;
  });
  if (making_ || waiting_.empty() || states_.size() >= (is_large ? 1 : most_states)) return;
  making_ = true;
  served_next_ = std::exchange(waiting_, {});
  machine_.save([this, alive = alive_](const auto& saved) {
    if (*alive) made(saved);
  });
}

void Downloads::made(const std::expected<Machine::Saved, rpc::Status>& saved) {
  making_ = false;
  const auto served = std::exchange(served_next_, {});
  if (saved) {
    const auto state = std::make_shared<State>(State{*saved});
    states_.push_back(state);
    for (const rpc::CallerPtr& caller : served)
      if (!caller->over()) give(state, caller);
  } else {
    for (const rpc::CallerPtr& caller : served) caller->refuse(saved.error());
  }
  make_state();
}

void Downloads::give(const std::shared_ptr<State>& state, const rpc::CallerPtr& caller) {
  run(std::make_shared<Download>(*this, caller, state));
}

void Downloads::run(const DownloadPtr& download) {
  slices_.run(download->caller->peer().connection, [this, download] { return go_on(download); });
}

bool Downloads::go_on(const DownloadPtr& download) {
  rpc::Caller& caller = *download->caller;
  if (caller.over()) return false;
  if (caller.congested()) {
    caller.on_room([this, download] { run(download); });
    return false;
  }
  if (download->sent < download->pages) {
    std::string blob = download->next();
    download->digest.add({reinterpret_cast<const std::uint8_t*>(blob.data()), blob.size()});
    tell(*download, std::move(blob));
    download->reserve();
    return true;
  }
  tell(*download, std::string(text_of(download->digest.finish())));
  caller.refuse({});  // that was all
  return false;
}

void Downloads::tell(Download& download, std::string blob) {
  pb::SnapshotResponse response;
  head_(response.mutable_header(), machine_.store().revision());
  response.set_remaining_bytes(download.pages - download.sent);
  response.set_blob(std::move(blob));
  download.caller->tell(response);
}

}  // namespace conclave::etcd
