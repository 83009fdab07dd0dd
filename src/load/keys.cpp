// Clients that put and get keys, and walk over them.
#include <proto/rpc.pb.h>

#include "load/client.hpp"

namespace conclave::load {
namespace {

namespace pb = etcdserverpb;

// ---- puts

class Put : public Client {
 public:
  Put(Home& home, std::uint32_t number) : Client(home, number) {
    request_.set_value(std::string(plan().value_bytes, 'x'));
  }

 protected:
  void once() override {
    request_.set_key(key(draw(plan().keys)));
    ask("/etcdserverpb.KV/Put", request_, [this](std::string_view) { done(); });
  }

 private:
  pb::PutRequest request_;
};

// Many keys in one transaction, so that a large store is there soon.
class Fill : public Client {
 public:
  using Client::Client;

 protected:
  void once() override {
    pb::TxnRequest request;
    const std::uint64_t first = operation_ * fill_batch(plan());
    const std::uint64_t end = std::min(first + fill_batch(plan()), plan().keys);
    for (std::uint64_t i = first; i < end; ++i) {
      pb::PutRequest& put = *request.add_success()->mutable_request_put();
      put.set_key(key(i));
      put.set_value(std::string(plan().value_bytes, 'x'));
    }
    ask("/etcdserverpb.KV/Txn", request, [this, count = end - first](std::string_view) {
      home_.counts["keys"] += count;
      done();
    });
  }
};

// Compare and swap, each client a key of its own: the revision at which it saw it decides.
class Txn : public Client {
 public:
  Txn(Home& home, std::uint32_t number) : Client(home, number) {
    const std::string key = plan().prefix + "txn/" + std::to_string(number);
    pb::Compare& compare = *request_.add_compare();
    compare.set_key(key);
    compare.set_target(pb::Compare::MOD);
    compare.set_mod_revision(0);
    pb::PutRequest& put = *request_.add_success()->mutable_request_put();
    put.set_key(key);
    put.set_value(std::string(plan().value_bytes, 'x'));
    request_.add_failure()->mutable_request_range()->set_key(key);
  }

 protected:
  // Finds out where the key stands; somebody may have left it there.
  void prepare() override {
    swap([this] { ready(); });
  }
  void once() override {
    swap([this] { swapped_ ? done() : fail("another client swapped our key"); });
  }

 private:
  void swap(std::function<void()> then) {
    ask_for<pb::TxnResponse>("/etcdserverpb.KV/Txn", request_,
                             [this, then = std::move(then)](const pb::TxnResponse& answer) {
                               swapped_ = answer.succeeded();
                               std::int64_t seen = answer.header().revision();
                               if (!swapped_ && answer.responses(0).response_range().kvs_size() == 1)
                                 seen = answer.responses(0).response_range().kvs(0).mod_revision();
                               request_.mutable_compare(0)->set_mod_revision(seen);
                               then();
                             });
  }

  pb::TxnRequest request_;
  bool swapped_ = false;
};

// ---- gets

class Get : public Client {
 public:
  Get(Home& home, std::uint32_t number, bool serializable) : Client(home, number) {
    request_.set_serializable(serializable);
  }

 protected:
  void once() override {
    request_.set_key(key(draw(plan().keys)));
    ask("/etcdserverpb.KV/Range", request_, [this](std::string_view bytes) {
      if (!answer_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || answer_.kvs_size() != 1)
        return fail("a key that was put is not there");
      done();
    });
  }

 private:
  pb::RangeRequest request_;
  pb::RangeResponse answer_;
};

// From the first key to the last, a page at a time, all as of the moment of the first page; then again.
class Range : public Client {
 public:
  using Client::Client;

 protected:
  void once() override {
    if (found_ == 0) {
      request_.set_key(key(0));
      request_.set_range_end(key(plan().keys));
      request_.set_limit(plan().page);
      request_.set_revision(0);
    }
    ask("/etcdserverpb.KV/Range", request_, [this](std::string_view bytes) {
      if (!answer_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return fail("the answer cannot be read");
      turn();
    });
  }
  void broke() override { found_ = 0; }

 private:
  void turn() {
    const auto keys = static_cast<std::uint64_t>(answer_.kvs_size());
    found_ += keys;
    home_.counts["keys"] += keys;
    if (answer_.more() && keys > 0) {
      if (request_.revision() == 0) request_.set_revision(answer_.header().revision());
      request_.set_key(answer_.kvs(answer_.kvs_size() - 1).key() + '\0');
      return done();
    }
    if (found_ != plan().keys) return fail("a walk over all keys found " + std::to_string(found_));
    found_ = 0;
    done();
  }

  pb::RangeRequest request_;
  pb::RangeResponse answer_;
  std::uint64_t found_ = 0;  // in this walk
};

}  // namespace

std::uint64_t fill_batch(const Plan& plan) {
  constexpr std::uint64_t most_operations = 100;  // etcd takes 128 in a transaction, and 1.5 MiB
  constexpr std::uint64_t most_bytes = 512 * 1024;
  const std::uint64_t each = plan.value_bytes + Client::key_of(plan, 0).size() + 32;
  return std::clamp<std::uint64_t>(most_bytes / each, 1, most_operations);
}

std::unique_ptr<Client> make_put(Home& home, std::uint32_t number) {
  return std::make_unique<Put>(home, number);
}
std::unique_ptr<Client> make_get(Home& home, std::uint32_t number) {
  return std::make_unique<Get>(home, number, false);
}
std::unique_ptr<Client> make_serializable_get(Home& home, std::uint32_t number) {
  return std::make_unique<Get>(home, number, true);
}
std::unique_ptr<Client> make_txn(Home& home, std::uint32_t number) {
  return std::make_unique<Txn>(home, number);
}
std::unique_ptr<Client> make_range(Home& home, std::uint32_t number) {
  return std::make_unique<Range>(home, number);
}
std::unique_ptr<Client> make_fill(Home& home, std::uint32_t number) {
  return std::make_unique<Fill>(home, number);
}

}  // namespace conclave::load
