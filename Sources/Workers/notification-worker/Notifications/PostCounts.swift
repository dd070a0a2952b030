import Postgres

/// Locks the counts of posts, in id order, before likes or comments are written whose triggers
/// update them. The triggers of one statement run one after the other; each locks in order, but
/// both together do not.
///
/// Creates missing rows in the same statement, because a sweep may delete those of erased people's posts.
func lockPostCounts(_ posts: [String]) -> Statement {
  lockPostCounts(selected: "$1::text[]", [.textArray(posts)])
}

/// - Parameter posts: SQL of type `text[]`: each post once.
func lockPostCounts(selected posts: String, _ parameters: [Parameter] = []) -> Statement {
  Statement(
    """
    INSERT INTO post_counts AS c (post_id)
    SELECT p.post_id FROM unnest(\(posts)) AS p (post_id)
    ORDER BY p.post_id COLLATE "C"
    ON CONFLICT (post_id) DO UPDATE SET likes = c.likes WHERE false
    """, parameters)
}
