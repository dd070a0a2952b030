import Events

/// The sort key of a post: microseconds since 2000-01-01, shifted left by 11, plus 11 bits of a
/// hash (FNV-1a) of the post's id.
///
/// If another post already has this key, the statement that inserts the post picks a nearby one;
/// see migration 0002.
///
/// - Parameter time: not before 2000, which the decoder guarantees; 52 bits last until 2142.
func postKey(time: EventTime, post: String) -> Int64 {
  var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  for byte in post.utf8 {
    hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
  }
  // Fold, because the low bits of FNV-1a depend only on the low bits of the bytes.
  let folded = Int64((hash ^ (hash >> 22) ^ (hash >> 43)) & 0x7ff)
  return (time.microseconds - Limits.earliestTime.microseconds) << 11 | folded
}
