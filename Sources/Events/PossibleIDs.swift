import Records

/// Every whole string of a record that could be an id: the key, the headers' values, and the strings of a
/// value in JSON or Protobuf, as far as it can be read.
func possibleIDs(in record: WireRecord) -> [String] {
  var found = PossibleIDs()
  record.key.map { found.add($0[...]) }
  for header in record.headers { header.value.map { found.add($0[...]) } }
  if let value = record.value {
    found.addJSON(value, depth: 0)
    // No Protobuf message begins with these.
    if let first = value.first, !"{[".utf8.contains(first) { found.addProtobuf(value[...]) }
  }
  return found.ids.map(\.string)
}

private struct PossibleIDs {
  private(set) var ids: Set<BytewiseString> = []

  mutating func add(_ bytes: ArraySlice<UInt8>) {
    guard 1...Limits.idBytes ~= bytes.count, let text = String(validating: bytes, as: UTF8.self),
      !containsControlCharacter(text)
    else { return }
    ids.insert(BytewiseString(text))
  }

  // MARK: JSON

  /// Adds the strings of a JSON value, and the numbers in members that hold ids.
  ///
  /// If a quotation mark is missing, what follows looks as if it were between strings. So that counts, too,
  /// unless it has a character that separates strings.
  mutating func addJSON(_ bytes: [UInt8], depth: Int) {
    var start = 0
    var position = 0
    var isString = false
    var name: ArraySlice<UInt8> = []
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\\"): position += 1
      case UInt8(ascii: "\""):
        let part = bytes[start..<position]
        if isString || !part.contains(where: isSeparator) {
          addJSONString(part, depth: depth)
          name = part
        } else {
          addNumbers(part, of: name)
        }
        start = position + 1
        isString.toggle()
      default: break
      }
      position += 1
    }
    if start > 0 { addNumbers(bytes[min(start, bytes.count)...], of: name) }
  }

  private mutating func addJSONString(_ escaped: ArraySlice<UInt8>, depth: Int) {
    guard escaped.contains(UInt8(ascii: "\\")) else { return add(escaped) }
    var scanner = JSONObjectScanner(Array("{\"\":\"".utf8) + escaped + Array("\"}".utf8))
    guard case .string(let text)? = try? scanner.members()[""] else { return }
    let bytes = Array(text.utf8)
    add(bytes[...])
    // JSON as a string.
    if depth < 3, bytes.first == UInt8(ascii: "{") || bytes.first == UInt8(ascii: "[") {
      addJSON(bytes, depth: depth + 1)
    }
  }

  /// Adds the numbers in the value of a member whose strings are ids: a common mistake.
  private mutating func addNumbers(_ value: ArraySlice<UInt8>, of name: ArraySlice<UInt8>) {
    guard fieldsOfIDs.contains(String(decoding: name, as: UTF8.self)) else { return }
    for number in value.split(whereSeparator: { isSeparator($0) || $0 <= 0x20 }) { add(number) }
  }

  // MARK: Protobuf

  /// Adds the strings of a message. What is not a field, such as a prefix, is skipped.
  mutating func addProtobuf(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    for _ in 0..<64 where !rest.isEmpty {
      var reader = ProtobufReader(rest: rest)
      while !reader.rest.isEmpty {
        rest = reader.rest
        guard let field = reader.bytes() else { break }
        addProtobuf(field: field, depth: 0)
        rest = reader.rest
      }
      rest = rest.dropFirst()
    }
  }

  /// Adds a field that is a string, and the strings in it if it is a message.
  private mutating func addProtobuf(field: ArraySlice<UInt8>, depth: Int) {
    add(field)
    guard depth < 3 else { return }
    var reader = ProtobufReader(rest: field)
    var fields: [ArraySlice<UInt8>] = []
    while !reader.rest.isEmpty {
      guard let field = reader.bytes() else { return }
      fields.append(field)
    }
    for field in fields { addProtobuf(field: field, depth: depth + 1) }
  }
}

private func isSeparator(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"),
    UInt8(ascii: "{"), UInt8(ascii: "}"):
    true
  default: false
  }
}

/// The members of events' data that hold ids of people.
private let fieldsOfIDs: Set<String> = [
  "actor", "author", "followee", "follower", "mentions", "peer", "person", "postOwner",
  "post_owner",
  "receiver", "recipient", "secondActor", "second_actor", "sender", "subscriber", "user",
]
