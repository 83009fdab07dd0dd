// States of the store on their way to clients that save them (Maintenance.Snapshot). However many there are,
// few states are kept for them: who asks while nothing changes shares one, and who asks while all are taken
// waits. A client that takes next to nothing of its state loses the call.
#pragma once
#include <proto/rpc.pb.h>

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "etcd/machine.hpp"
#include "etcd/sha256.hpp"
#include "rpc/caller.hpp"
#include "rpc/slices.hpp"

namespace conclave::etcd {

class Downloads {
 public:
  using Head = std::function<void(etcdserverpb::ResponseHeader*, kv::Revision)>;
  Downloads(Machine& machine, rpc::Slices& slices, Head head);
  ~Downloads();
  Downloads(const Downloads&) = delete;
  Downloads& operator=(const Downloads&) = delete;

  // Gives the state, as it is now or a little later, and its digest, as etcd does.
  void begin(const rpc::CallerPtr& caller);

  std::size_t under_way() const { return under_way_; }
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t states() const { return states_.size(); }

 private:
  // What several may be given.
  struct State {
    Machine::Saved saved = {};
    std::size_t takers = 0;  // in all
  };
  struct Download;
  using DownloadPtr = std::shared_ptr<Download>;

  void make_state();
  void made(const std::expected<Machine::Saved, rpc::Status>& saved);
  void give(const std::shared_ptr<State>& state, const rpc::CallerPtr& caller);
  void run(const DownloadPtr& download);
  bool go_on(const DownloadPtr& download);
  void tell(Download& download, std::string blob);
  void forget_the_gone();

  Machine& machine_;
  rpc::Slices& slices_;
  const Head head_;
  std::list<std::weak_ptr<State>> states_ = {};
  std::vector<rpc::CallerPtr> waiting_ = {};      // for the next state
  std::vector<rpc::CallerPtr> served_next_ = {};  // with the one that is being made
  std::size_t most_waiting_ = 64;                 // before those are looked for who are gone
  std::size_t under_way_ = 0;
  bool making_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::etcd
