begin_twins(multi_paxos MultiPaxos multi-paxos)
twin(ignores_votes "proposes nothing where others have voted already"
  "vote == found.end() ? Content{} : vote->second.content"
  "vote == found.end() ? Content{} : Content{}"
  "nodes=3 entries=1,0,0 timeouts=2")
twin(obeys_old_leaders "votes below what it has promised"
  "if (ballot < promised) {"
  "if (ballot < promised && ballot.round + 3 < promised.round) {"
  "nodes=3 entries=1,1,0 timeouts=2")
twin(forgets_its_votes "keeps its promise and not its votes over a crash"
  "node.votes = durable.votes;"
  "(void)durable.votes;"
  "nodes=3 entries=1,1,0 opening=1,2 crashes=1 recoveries=1 timeouts=2 fifo=1")
twin(trusts_old_votes "takes its vote in an older ballot for what was chosen"
  "vote == votes.end() || vote->second.ballot != promised"
  "vote == votes.end()"
  "nodes=3 entries=1,1,0 timeouts=2")
twin(half_is_enough "takes half of the processes for a majority"
  "2 * nodes.size() > peers.size() + 1"
  "2 * nodes.size() >= peers.size() + 1"
  "nodes=2 entries=1 timeouts=2")
twin(counts_repetitions "takes a repeated proposal for a new one"
  "return last != applied.end() && entry.serial <= last->second;"
  "return last != applied.end() && entry.serial < last->second;"
  "nodes=2 entries=0,1 timeouts=3")
end_twins()
