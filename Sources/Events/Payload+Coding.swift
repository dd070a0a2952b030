import SwiftProtobuf

// The only mapping between event types and messages.
extension Payload {
  /// The data as a Protobuf message, for code that is the same for every type.
  var message: any Message {
    switch self {
    case .postPublished(let data): data
    case .postDeleted(let data): data
    case .followCreated(let data): data
    case .followRemoved(let data): data
    case .likeCreated(let data): data
    case .likeRemoved(let data): data
    case .commentCreated(let data): data
    case .commentRemoved(let data): data
    case .messageSent(let data): data
    case .conversationRead(let data): data
    case .profileChanged(let data): data
    case .profileEdited(let data): data
    case .alarmRead(let data): data
    case .alarmReadAll(let data): data
    case .alarmDeleted(let data): data
    case .alarmAllDeleted(let data): data
    case .alarmSeen(let data): data
    case .alarmMuted(let data): data
    case .alarmUnmuted(let data): data
    case .alarmDisabled(let data): data
    case .alarmEnabled(let data): data
    case .personBlocked(let data): data
    case .personUnblocked(let data): data
    case .personMuted(let data): data
    case .personUnmuted(let data): data
    case .alarmRaised(let data): data
    case .alarmWithdrawn(let data): data
    case .authorSubscribed(let data): data
    case .authorUnsubscribed(let data): data
    case .reminderSet(let data): data
    case .reminderCycleSet(let data): data
    case .reminderCancelled(let data): data
    case .digestSet(let data): data
    case .deviceRegistered(let data): data
    case .deviceRemoved(let data): data
    case .pushPreferences(let data): data
    case .userErased(let data): data
    case .notificationChanged(let data): data
    case .notificationRetracted(let data): data
    case .alarmChanged(let data): data
    case .alarmRetracted(let data): data
    }
  }

  /// - Throws: SwiftProtobuf's own errors.
  init(_ type: EventType, from source: DataSource) throws {
    switch type {
    case .postPublished: self = .postPublished(try source.decode())
    case .postDeleted: self = .postDeleted(try source.decode())
    case .followCreated: self = .followCreated(try source.decode())
    case .followRemoved: self = .followRemoved(try source.decode())
    case .likeCreated: self = .likeCreated(try source.decode())
    case .likeRemoved: self = .likeRemoved(try source.decode())
    case .commentCreated: self = .commentCreated(try source.decode())
    case .commentRemoved: self = .commentRemoved(try source.decode())
    case .messageSent: self = .messageSent(try source.decode())
    case .conversationRead: self = .conversationRead(try source.decode())
    case .profileChanged: self = .profileChanged(try source.decode())
    case .profileEdited: self = .profileEdited(try source.decode())
    case .alarmRead: self = .alarmRead(try source.decode())
    case .alarmReadAll: self = .alarmReadAll(try source.decode())
    case .alarmDeleted: self = .alarmDeleted(try source.decode())
    case .alarmAllDeleted: self = .alarmAllDeleted(try source.decode())
    case .alarmSeen: self = .alarmSeen(try source.decode())
    case .alarmMuted: self = .alarmMuted(try source.decode())
    case .alarmUnmuted: self = .alarmUnmuted(try source.decode())
    case .alarmDisabled: self = .alarmDisabled(try source.decode())
    case .alarmEnabled: self = .alarmEnabled(try source.decode())
    case .personBlocked: self = .personBlocked(try source.decode())
    case .personUnblocked: self = .personUnblocked(try source.decode())
    case .personMuted: self = .personMuted(try source.decode())
    case .personUnmuted: self = .personUnmuted(try source.decode())
    case .alarmRaised: self = .alarmRaised(try source.decode())
    case .alarmWithdrawn: self = .alarmWithdrawn(try source.decode())
    case .authorSubscribed: self = .authorSubscribed(try source.decode())
    case .authorUnsubscribed: self = .authorUnsubscribed(try source.decode())
    case .reminderSet: self = .reminderSet(try source.decode())
    case .reminderCycleSet: self = .reminderCycleSet(try source.decode())
    case .reminderCancelled: self = .reminderCancelled(try source.decode())
    case .digestSet: self = .digestSet(try source.decode())
    case .deviceRegistered: self = .deviceRegistered(try source.decode())
    case .deviceRemoved: self = .deviceRemoved(try source.decode())
    case .pushPreferences: self = .pushPreferences(try source.decode())
    case .userErased: self = .userErased(try source.decode())
    case .notificationChanged: self = .notificationChanged(try source.decode())
    case .notificationRetracted: self = .notificationRetracted(try source.decode())
    case .alarmChanged: self = .alarmChanged(try source.decode())
    case .alarmRetracted: self = .alarmRetracted(try source.decode())
    }
  }
}

/// Encoded data and its encoding.
enum DataSource {
  case protobuf([UInt8])
  case json([UInt8], ignoringUnknownFields: Bool)

  func decode<Data: Message>() throws -> Data {
    switch self {
    case .protobuf(let bytes):
      var options = BinaryDecodingOptions()
      options.discardUnknownFields = true
      return try Data(serializedBytes: bytes, options: options)
    case .json(let bytes, let ignoring):
      var options = JSONDecodingOptions()
      options.ignoreUnknownFields = ignoring
      return try Data(jsonUTF8Bytes: replacingSurrogatePairs(in: bytes), options: options)
    }
  }
}

extension Payload: Equatable {
  /// Compares the encoded bytes, unlike `String`'s equality.
  public static func == (left: Self, right: Self) -> Bool {
    left.type == right.type && left.protobufBytes == right.protobufBytes
  }

  func bytes(as contentType: ContentType) throws(EventError) -> [UInt8] {
    switch contentType {
    case .protobuf: protobufBytes
    case .json: try jsonBytes()
    }
  }

  /// The data in Protobuf's binary encoding.
  var protobufBytes: [UInt8] {
    // Arguments in one order, so that the same data is always the same bytes.
    var options = BinaryEncodingOptions()
    options.useDeterministicOrdering = true
    // Serialization fails only for missing required fields, more than 2 GiB, or `Any`; proto3 data
    // has none of these.
    return (try? message.serializedBytes(options: options)) ?? []
  }
}
