import Crypto
public import Devices
public import Foundation

/// Ids that are derived from the message. Providers do not deduplicate, so a request that is
/// repeated after a crash must have the same ids, to replace what the first one showed.
extension PushMessage {
  /// 2d0a5b0e-2f6c-5c36-9d5e-707573680000, chosen once.
  private static let namespace: [UInt8] = [
    0x2D, 0x0A, 0x5B, 0x0E, 0x2F, 0x6C, 0x5C, 0x36, 0x9D, 0x5E, 0x70, 0x75, 0x73, 0x68, 0x00, 0x00,
  ]

  /// The id of the request: a UUID version 5 (RFC 9562, 5.5) of the notification, its version, the
  /// purpose, the device, and the other notifications of a removal.
  public func requestID(for device: Device) -> UUID {
    var hash = Insecure.SHA1()
    hash.update(data: Self.namespace)
    let parts = [
      idText, String(version), purpose.rawValue, device.user, device.installation,
      device.provider.rawValue, device.app,
    ]
    // A removal of other notifications is another request, because a receiver may ignore an id that
    // it knows.
    let others = purpose == .removal ? removedIDs.dropFirst() : []
    for part in parts + others { hash.update(data: Array("\(part.utf8.count):\(part)".utf8)) }
    var bytes = Array(hash.finalize().prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x50
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// The notification's id in lower case, as everywhere else.
  var idText: String { notification.uuidString.lowercased() }

  /// The ids of the notifications that a removal takes away.
  var removedIDs: [String] {
    [idText] + alsoRemoved.prefix(Self.alsoRemovedMax).map { $0.uuidString.lowercased() }
  }

  /// Whether it removes several notifications. While such a message is undelivered, no later
  /// message about one of them may replace it: the others would stay visible.
  var isOfSeveral: Bool { purpose == .removal && !alsoRemoved.isEmpty }

  /// The id under which a later message replaces this one: that of the notification, or of all
  /// badges. At most 36 bytes.
  var collapseID: String { purpose == .badge ? "badge" : idText }

  /// ``collapseID`` in at most 32 characters of the URL-safe alphabet, as RFC 8030, 5.4 requires; nil if no later
  /// message may replace it.
  var topic: String? {
    if isOfSeveral { return nil }
    return purpose == .badge
      ? "badge" : base64URL(withUnsafeBytes(of: notification.uuid) { Array($0) })
  }
}
