// Answers that are made of records. A read of some keys is answered at once; a wide one is read, measured and
// written in slices that others pass, is refused if it is too large, waits until there is room for its
// answer, and leaves in pieces. What was written is told in pieces, too, and for sure.
#pragma once
#include <proto/rpc.pb.h>

#include <functional>
#include <memory>
#include <string>

#include "etcd/machine.hpp"
#include "etcd/pieces.hpp"
#include "kv/reading.hpp"
#include "rpc/caller.hpp"
#include "rpc/slices.hpp"

namespace conclave::etcd {

// Counted from the start; for /metrics.
struct AnswerStats {
  std::uint64_t wide = 0;       // reads in slices
  std::uint64_t waited = 0;     // … that waited for room
  std::uint64_t too_large = 0;  // refused
};

class Answers {
 public:
  using Head = std::function<void(etcdserverpb::ResponseHeader*, kv::Revision)>;
  Answers(Machine& machine, rpc::Slices& slices, Head head);
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // What the store says now, or a little later. The transaction is one that only reads.
  void range(const etcdserverpb::RangeRequest& request, const rpc::CallerPtr& caller);
  void txn(const etcdserverpb::TxnRequest& request, const rpc::CallerPtr& caller);
  // What came of a command.
  void tell(kv::Revision revision, Pieces::Result result, const rpc::CallerPtr& caller);
  // For an answer that would have so many bytes.
  void refuse_too_large(std::size_t bytes, const rpc::CallerPtr& caller);

  // While a request waits for its turn, its memory counts as its client's.
  static void keep(const google::protobuf::Message& request, const rpc::CallerPtr& caller);
  const AnswerStats& stats() const { return stats_; }

 private:
  struct Work;
  using WorkPtr = std::shared_ptr<Work>;

  template <class Request, class Command>
  void begin(const Request& request, const Command& command, const rpc::CallerPtr& caller);
  Pieces pieces_of(kv::Revision revision, Pieces::Result result, const rpc::Caller& caller) const;
  bool tell_at_once(Pieces& pieces, rpc::Caller& caller);
  void run(const WorkPtr& work);
  bool go_on(const WorkPtr& work);
  bool go_on_reading(Work& work);
  bool go_on_measuring(const WorkPtr& work);
  bool go_on_writing(const WorkPtr& work);
  void wait_for_room(const WorkPtr& work, std::size_t bytes);
  void take_room(const WorkPtr& work, std::size_t bytes);
  void let_go(Work& work);

  Machine& machine_;
  rpc::Slices& slices_;
  const Head head_;
  std::string text_ = {};  // of the piece that is being written
  AnswerStats stats_ = {};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::etcd
