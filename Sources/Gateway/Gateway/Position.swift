import Events
import Foundation

/// The position of an event in Kafka, such as `likes/3@17`: topic without prefix, partition,
/// offset.
struct Position: Hashable, Sendable, CustomStringConvertible {
  var topic: Topic
  var partition: Int32
  var offset: Int64

  var description: String { "\(topic.rawValue)/\(partition)@\(offset)" }

  init(topic: Topic, partition: Int32, offset: Int64) {
    (self.topic, self.partition, self.offset) = (topic, partition, offset)
  }

  /// Nil unless `text` has the form of `description` and names a topic that clients' events go to.
  init?(_ text: some StringProtocol) {
    guard let at = text.lastIndex(of: "@"), let slash = text[..<at].lastIndex(of: "/"),
      let topic = Topic(rawValue: String(text[..<slash])), !topic.isInternal,
      let partition = digits(text[text.index(after: slash)..<at]).flatMap(Int32.init(exactly:)),
      let offset = digits(text[text.index(after: at)...])
    else { return nil }
    self.init(topic: topic, partition: partition, offset: offset)
  }

  /// Parses a `Magpie-After` header: one or more positions, separated by commas.
  ///
  /// - Throws: ``Problem`` if one is malformed, or there are too many.
  static func all(in header: String) throws(Problem) -> [Position] {
    let parts = header.split(
      separator: ",", maxSplits: GatewayLimits.positions, omittingEmptySubsequences: false)
    guard parts.count <= GatewayLimits.positions else {
      throw Problem(
        .invalidHeader, "It names more than \(GatewayLimits.positions) positions.",
        field: "Magpie-After")
    }
    var positions: [Position] = []
    for part in parts {
      guard let position = Position(part.trimmingCharacters(in: .whitespaces)) else {
        throw Problem(
          .invalidHeader, "It is not a position as in Magpie-Position, such as likes/3@17.",
          field: "Magpie-After")
      }
      positions.append(position)
    }
    return positions
  }
}

/// A number without a sign, which `Int64` also accepts.
func digits(_ text: some StringProtocol) -> Int64? {
  text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? Int64(text) : nil
}
