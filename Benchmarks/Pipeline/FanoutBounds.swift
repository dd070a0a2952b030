import Postgres

/// Writes the rows of `feed_entries` again, with one committed statement per 100 posts.
func secondsToInsertSelect(_ stack: BenchStack) throws -> Double {
  try makeTable("bench_inserted", stack)
  let keys = try postKeys(stack)
  try stack.settle()
  let started = ContinuousClock.now
  for batch in keys {
    try stack.connection.query(
      """
      INSERT INTO bench_inserted
      SELECT f.follower, p.post_key
      FROM posts p JOIN follows f ON f.followee = p.author AND f.active
      WHERE p.post_key = ANY ($1::bigint[])
      ORDER BY f.follower, p.post_key
      ON CONFLICT DO NOTHING
      """, [.int8Array(batch)])
  }
  return seconds(since: started)
}

/// The same by binary COPY, sorted within each 100 posts. Measures only writing, not reading the
/// rows.
func secondsToCopy(_ stack: BenchStack) throws -> Double {
  try makeTable("bench_copied", stack)
  let batches = try postKeys(stack).map { batch in
    try stack.connection.query(
      "SELECT owner, post_key FROM feed_entries WHERE post_key = ANY ($1) ORDER BY 1, 2",
      [.int8Array(batch)]
    ).map { (try $0.int8(0), try $0.int8(1)) }
  }
  try stack.settle()
  let started = ContinuousClock.now
  for batch in batches {
    try stack.connection.copyIn("COPY bench_copied FROM STDIN (FORMAT binary)") { writer in
      for (owner, postKey) in batch {
        try writer.row(columns: 2)
        try writer.int8(owner)
        try writer.int8(postKey)
      }
    }
  }
  return seconds(since: started)
}

/// Partitioned and keyed like `feed_entries`, with one partition for all posts of the benchmark.
private func makeTable(_ name: String, _ stack: BenchStack) throws {
  try stack.connection.script(
    """
    CREATE TABLE \(name) (
      owner bigint NOT NULL, post_key bigint NOT NULL, PRIMARY KEY (owner, post_key)
    ) PARTITION BY RANGE (post_key);
    CREATE TABLE \(name)_from PARTITION OF \(name) FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
    """)
}

/// All post keys in order, 100 per batch.
private func postKeys(_ stack: BenchStack) throws -> [[Int64?]] {
  let keys = try stack.connection.query(
    "SELECT post_key FROM posts WHERE post_key IS NOT NULL ORDER BY post_key"
  ).map { try $0.int8(0) }
  return stride(from: 0, to: keys.count, by: 100).map {
    Array(keys[$0..<min($0 + 100, keys.count)])
  }
}
