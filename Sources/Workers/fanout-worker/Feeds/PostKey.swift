/// The low 11 bits of a post's sort key: a hash (FNV-1a) of the post's id. The higher bits are the
/// microseconds from 2000-01-01 to its first publication.
///
/// If another post already has this key, the statement that inserts the post picks a nearby one;
/// see migration 0002.
func postKeyHash(_ post: String) -> Int64 {
  var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  for byte in post.utf8 {
    hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
  }
  // Fold, because the low bits of FNV-1a depend only on the low bits of the bytes.
  return Int64((hash ^ (hash >> 22) ^ (hash >> 43)) & 0x7ff)
}
