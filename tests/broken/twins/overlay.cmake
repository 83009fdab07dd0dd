# twin(name, what it does wrong, the line, what stands there instead)

begin_twins(distance_domination DistanceDomination superpeer-distance-domination
            catalogue/overlay/rows.hpp distance_domination_setup)
twin(keeps_votes "does not pass on the votes of others"
  "      passing.insert(theirs.candidate);"
  "      passed.insert(theirs.candidate);")
twin(deaf_to_votes "serves only if it voted for itself"
  "    if (theirs.candidate == self) {\n      superpeer = true;"
  "    if (theirs.candidate == self) {\n      (void)superpeer;")
twin(last_heard "joins the superpeer it heard of last"
  "if (!nearest || theirs < *nearest) nearest = theirs;"
  "nearest = theirs;")
end_twins()

begin_twins(dominating_set DominatingSet superpeer-dominating-set
            catalogue/overlay/rows.hpp dominating_set_setup)
twin(admits_nobody "serves and tells nobody"
  "      out.send(neighbour.node, Admit{});"
  "      (void)out;")
twin(looks_one_hop "compares itself with its neighbours only"
  "greatest = std::max(greatest, neighbour.best);"
  "greatest = std::max(greatest, neighbour.rank);")
twin(everybody_serves "serves whatever its rank"
  "    if (greatest != rank) return;"
  "")
end_twins()

begin_twins(p_center PCenter superpeer-p-center
            catalogue/overlay/rows.hpp p_center_setup)
twin(nearest_first "appoints whoever is nearest"
  "const bool farther = theirs.hops > farthest.hops;"
  "const bool farther = theirs.hops > 0 && (farthest.hops == 0 || theirs.hops < farthest.hops);")
twin(answers_at_once "answers before those it told have answered"
  "if (engaged || unanswered == 0) return out.send(from, Answer{});"
  "if (engaged || unanswered > 0) { unanswered = 0; return out.send(from, Answer{}); }")
twin(stays_put "keeps its first centre although a nearer one comes"
  "if (nearest && *nearest <= theirs)"
  "if (nearest)")
twin(one_too_few "stops before the last centre"
  "out.send(*branch, Appoint{left - 1});"
  "if (left > 1) return out.send(*branch, Appoint{left - 1});\n    finish(out, std::nullopt);")
end_twins()
