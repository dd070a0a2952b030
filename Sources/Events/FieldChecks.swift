// Each function checks one rule. Field names are those of the JSON mapping.

func checkIDs(
  _ first: (String, String), _ second: (String, String), _ third: (String, String)? = nil
) throws(EventError) {
  try checkID(first.1, first.0)
  try checkID(second.1, second.0)
  if let third { try checkID(third.1, third.0) }
}

/// 1 to 128 bytes without control characters, not beginning like the ids of former people. Ids are opaque and
/// not normalised.
func checkID(_ value: String, _ field: String) throws(EventError) {
  try checkPresent(value, field)
  try checkOptionalID(value, field)
}

/// The other side of a conversation, who may be a former person.
func checkPeer(_ value: String, _ field: String) throws(EventError) {
  try checkLength(value, field, Limits.idBytes)
  let isFormer = FormerPerson.has(id: value)
  try checkID(isFormer ? String(value.dropFirst(FormerPerson.prefix.count)) : value, field)
}

func checkPresent(_ value: String, _ field: String) throws(EventError) {
  guard !value.isEmpty else {
    throw EventError(.missingField, "\(field) is missing or empty; it is required.", field: field)
  }
}

func checkOptionalID(_ value: String, _ field: String) throws(EventError) {
  try checkLength(value, field, Limits.idBytes)
  guard !containsControlCharacter(value) else {
    throw EventError(
      .badID, "\(field) \(excerpt(value)) contains a control character; ids may not.",
      field: field)
  }
  guard !FormerPerson.has(id: value) else {
    throw EventError(
      .badID,
      "\(field) \(excerpt(value)) begins with \(FormerPerson.prefix), which stands for people who were erased.",
      field: field)
  }
}

/// PostgreSQL's `text` can hold every character except NUL.
func checkText(_ value: String, _ field: String, _ limitBytes: Int) throws(EventError) {
  try checkLength(value, field, limitBytes)
  guard !value.utf8.contains(0) else {
    throw EventError(
      .badText, "\(field) contains the character NUL, which cannot be stored; remove it.",
      field: field)
  }
}

func checkLength(_ value: String, _ field: String, _ limitBytes: Int) throws(EventError) {
  let count = value.utf8.count
  guard count <= limitBytes else {
    throw EventError(
      .fieldTooLong, "\(field) has \(count) bytes; at most \(limitBytes) are allowed.",
      field: field)
  }
}

/// At most 100 ids. Duplicates are removed; the first occurrence stays.
func checkedMentions(_ mentions: [String]) throws(EventError) -> [String] {
  guard mentions.count <= Limits.mentions else {
    throw EventError(
      .tooManyMentions,
      "mentions names \(mentions.count) people; at most \(Limits.mentions) are allowed.",
      field: "mentions")
  }
  guard !mentions.isEmpty else { return [] }
  var seen = Set<BytewiseString>()
  for mention in mentions { try checkID(mention, "mentions") }
  return mentions.filter { seen.insert(BytewiseString($0)).inserted }
}

/// A UUID in its 36-character form, in upper or lower case.
func checkUUID(_ value: String, _ field: String) throws(EventError) {
  try checkPresent(value, field)
  let bytes = Array(value.utf8)
  let isUUID =
    bytes.count == 36
    && bytes.indices.allSatisfy { index in
      switch index {
      case 8, 13, 18, 23: bytes[index] == UInt8(ascii: "-")
      default: hexadecimalDigit(bytes[index]) != nil
      }
    }
  guard isUUID else {
    throw EventError(
      .badID, "\(field) \(excerpt(value)) is not a UUID as returned by alarm_page.",
      field: field)
  }
}

/// The syntax of a kind's code or name. Only a registry knows which kinds there are.
func checkKind(_ value: String, _ field: String) throws(EventError) {
  try checkPresent(value, field)
  guard isName(value) else {
    throw EventError(
      .badValue,
      "\(field) \(excerpt(value)) is not a kind of alarm: a code such as F06, or a name of at most "
        + "\(Limits.kindBytes) letters, digits, hyphens and underscores that begins with a letter.",
      field: field)
  }
}

/// An RFC 3339 time, or nothing.
func checkOptionalTime(_ value: String, _ field: String) throws(EventError) {
  guard !value.isEmpty else { return }
  do {
    _ = try EventTime(rfc3339: value)
  } catch {
    throw EventError(.badValue, "\(field): \(error.message)", field: field)
  }
}

/// The number and size of arguments. Only the kind knows which ones it has.
func checkArguments(_ arguments: [String: String]) throws(EventError) {
  guard arguments.count <= Limits.arguments else {
    throw EventError(
      .badValue,
      "arguments has \(arguments.count) members; at most \(Limits.arguments) are allowed.",
      field: "arguments")
  }
  // Sorted, so that the same data always has the same error.
  for (name, value) in arguments.sorted(by: { $0.key < $1.key }) {
    guard isName(name) else {
      throw EventError(
        .badValue,
        "arguments has \(excerpt(name)), which is not a name of at most \(Limits.kindBytes) letters, "
          + "digits, hyphens and underscores.", field: "arguments")
    }
    try checkText(value, "arguments.\(name)", Limits.argumentBytes)
  }
}

/// A letter, then letters, digits, hyphens and underscores.
private func isName(_ text: String) -> Bool {
  var isFirst = true
  for byte in text.utf8 {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): break
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      if isFirst { return false }
    default: return false
    }
    isFirst = false
  }
  return 1...Limits.kindBytes ~= text.utf8.count
}

func checkRange(_ value: Int64, _ field: String, _ range: ClosedRange<Int64>) throws(EventError) {
  guard range.contains(value) else {
    throw EventError(
      .badValue,
      "\(field) is \(value); it must be between \(range.lowerBound) and \(range.upperBound).",
      field: field)
  }
}

/// C0, DEL and C1 (U+0080 to U+009F, encoded as C2 80 to C2 9F).
func containsControlCharacter(_ value: String) -> Bool {
  value.utf8.withContiguousStorageIfAvailable(hasControlCharacter)
    ?? hasControlCharacter(value.utf8)
}

private func hasControlCharacter(_ bytes: some Collection<UInt8>) -> Bool {
  // Nearly all texts are printable ASCII, of which the compiler compares many bytes at once.
  var others: UInt8 = 0
  for byte in bytes { others |= byte &- 0x20 < 0x5F ? 0 : 1 }
  if others == 0 { return false }
  var previous: UInt8 = 0
  for byte in bytes {
    if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0) { return true }
    previous = byte
  }
  return false
}
