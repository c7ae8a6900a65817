// Sphinx calls Scorer.score() for each hit: its page, title, anchor, description and score. A page
// can be hit by its title, a keyword, the title of a section and its text. The search lists it
// once: all its hits get the title and anchor of the best one, and Sphinx removes equal hits.
// Objects of the APIs have a description and are listed next to their page.
const bestHits = new Map();
Scorer.score = (hit) => {
  const [page, title, anchor, description, score] = hit;
  if (description) return score;
  const best = bestHits.get(page);
  if (best === undefined) {
    bestHits.set(page, hit);
  } else if (score > best[4]) {
    [best[1], best[2], best[4]] = [title, anchor, score];
  } else {
    [hit[1], hit[2]] = [best[1], best[2]];
    return best[4];
  }
  return score;
};
