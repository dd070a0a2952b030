import Postgres

/// Locks the counts of posts, in id order, before likes or comments are written whose triggers
/// update them. The triggers of one statement run one after the other; each locks in order, but
/// both together do not.
func lockPostCounts(_ posts: [String]) -> [Statement] {
  [
    Statement(
      """
      INSERT INTO post_counts (post_id)
      SELECT p.post_id FROM unnest($1::text[]) AS p (post_id)
      WHERE NOT EXISTS (SELECT FROM post_counts c WHERE c.post_id = p.post_id)
      ORDER BY p.post_id COLLATE "C"
      ON CONFLICT DO NOTHING
      """, [.textArray(posts)]),
    Statement(
      """
      SELECT FROM post_counts c WHERE c.post_id = ANY ($1::text[])
      ORDER BY c.post_id
      FOR NO KEY UPDATE
      """, [.textArray(posts)]),
  ]
}
