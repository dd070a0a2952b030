import Events

/// The key that a post sorts by: microseconds since 2000-01-01, shifted left by 11, plus 11 bits
/// of a hash (FNV-1a) of the post's id.
///
/// Where another post holds it already, the statement that inserts the post picks another one near
/// it, see migration 0002.
///
/// - Parameter time: not before 2000, which the decoder guarantees; 52 bits last until 2142.
func postKey(time: EventTime, post: String) -> Int64 {
  var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  for byte in post.utf8 {
    hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
  }
  // Fold, because the low bits of FNV-1a depend on the low bits of the bytes only.
  let folded = Int64((hash ^ (hash >> 22) ^ (hash >> 43)) & 0x7ff)
  return (time.microseconds - Limits.earliestTime.microseconds) << 11 | folded
}
