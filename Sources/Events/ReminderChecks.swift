// The checks of reminders and digests. Whether a time zone or a kind exists, and what a rule of
// recurrence means, only the worker knows.

extension ReminderSet {
  func check() throws(EventError) {
    try checkIDs(("user", user), ("reminder", reminder))
    if !kind.isEmpty { try checkKind(kind, "kind") }
    try checkPresent(title, "title")
    try checkContent(title: title, memo: memo, symbol: symbol, link: link)
    guard at.isEmpty || instant.isEmpty else {
      throw EventError(
        .badValue, "The event has both at and instant; exactly one of them is required.",
        field: "instant")
    }
    if instant.isEmpty {
      guard !at.isEmpty else {
        throw EventError(
          .missingField, "The event has neither at nor instant; exactly one of them is required.",
          field: "at")
      }
      try checkLocalTime(at, "at")
    } else {
      try checkOptionalTime(instant, "instant")
      guard zone.isEmpty else {
        throw EventError(
          .badValue, "zone is not allowed beside instant, which has an offset of its own.",
          field: "zone")
      }
    }
    try checkZone(zone)
    try checkText(`repeat`, "repeat", Limits.repeatBytes)
  }
}

extension ReminderCycleSet {
  func check() throws(EventError) {
    try checkIDs(("user", user), ("cycle", cycle))
    if !kind.isEmpty { try checkKind(kind, "kind") }
    try checkItems()
    try checkPresent(from, "from")
    try checkPresent(to, "to")
    try checkTimeOfDay(from, "from")
    if to != "24:00" { try checkTimeOfDay(to, "to", orMidnight: true) }
    guard from != to else {
      throw EventError(
        .badValue, "to is \(excerpt(to)), like from; a whole day is 00:00 to 24:00.", field: "to")
    }
    try checkZone(zone)
    try checkRange(Int64(times), "times", 1...Int64(Limits.cycleTimes))
    guard period.isEmpty || CyclePeriod(rawValue: period) != nil else {
      throw EventError(
        .badValue, "period is \(excerpt(period)); it must be day or week.", field: "period")
    }
  }

  private func checkItems() throws(EventError) {
    guard !items.isEmpty else {
      throw EventError(
        .missingField, "items is missing or empty; at least one is required.", field: "items")
    }
    guard items.count <= Limits.cycleItems else {
      throw EventError(
        .badValue, "items has \(items.count) members; at most \(Limits.cycleItems) are allowed.",
        field: "items")
    }
    var ids = Set<BytewiseString>()
    for item in items {
      try checkID(item.item, "items.item")
      guard ids.insert(BytewiseString(item.item)).inserted else {
        throw EventError(
          .badValue, "items has \(excerpt(item.item)) twice; each item needs an id of its own.",
          field: "items")
      }
      try checkPresent(item.title, "items.title")
      try checkContent(
        title: item.title, memo: item.memo, symbol: item.symbol, link: item.link, in: "items.")
    }
  }
}

extension DigestSet {
  func check() throws(EventError) {
    try checkID(user, "user")
    if !at.isEmpty { try checkTimeOfDay(at, "at") }
    try checkZone(zone)
    var seen = Set<DigestDay>()
    for name in days {
      guard let day = DigestDay(rawValue: name) else {
        throw EventError(
          .badValue, "days has \(excerpt(name)); the days are mo, tu, we, th, fr, sa and su.",
          field: "days")
      }
      guard seen.insert(day).inserted else {
        throw EventError(.badValue, "days has \(name) twice.", field: "days")
      }
    }
    guard kinds.count <= Limits.digestKinds else {
      throw EventError(
        .badValue, "kinds has \(kinds.count) members; at most \(Limits.digestKinds) are allowed.",
        field: "kinds")
    }
    for kind in kinds { try checkKind(kind, "kinds") }
  }
}

/// What a reminder and an item of a cycle show.
private func checkContent(
  title: String, memo: String, symbol: String, link: String, in prefix: String = ""
) throws(EventError) {
  try checkText(title, prefix + "title", Limits.titleBytes)
  try checkText(memo, prefix + "memo", Limits.memoBytes)
  try checkText(symbol, prefix + "symbol", Limits.symbolBytes)
  try checkText(link, prefix + "link", Limits.linkBytes)
}

/// The syntax of a time zone's name, or nothing.
func checkZone(_ value: String) throws(EventError) {
  try checkLength(value, "zone", Limits.zoneBytes)
  guard value.utf8.allSatisfy(isZoneNameByte) else {
    throw EventError(
      .badValue, "zone \(excerpt(value)) is not a time zone's name, such as Asia/Seoul.",
      field: "zone")
  }
}

/// Whether the byte may be in the name of a time zone: the alphabet of all names in IANA's data.
package func isZoneNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"),
    UInt8(ascii: "-"), UInt8(ascii: "/"):
    true
  default: false
  }
}

/// `YYYY-MM-DDTHH:MM` or `YYYY-MM-DDTHH:MM:SS`, without an offset. Not of the year 0000, which
/// PostgreSQL does not have.
private func checkLocalTime(_ value: String, _ field: String) throws(EventError) {
  let bytes = Array(value.utf8)
  let seconds: String? =
    switch bytes.count {
    case 16: ":00"
    case 19: ""
    default: nil
    }
  guard let seconds, bytes[10] == UInt8(ascii: "T"), !value.hasPrefix("0000"),
    EventTime(rfc3339: bytes + Array((seconds + "Z").utf8)) != nil
  else {
    throw EventError(
      .badValue,
      "\(field) \(excerpt(value)) is not a date and time without an offset, such as "
        + "2026-11-23T07:00.", field: field)
  }
}

/// `HH:MM`, 00:00 to 23:59.
func checkTimeOfDay(
  _ value: String, _ field: String, orMidnight: Bool = false
) throws(EventError) {
  let bytes = Array(value.utf8)
  let digits = bytes.map { Int($0) - 0x30 }
  guard bytes.count == 5, bytes[2] == UInt8(ascii: ":"),
    [0, 1, 3, 4].allSatisfy({ 0...9 ~= digits[$0] }), digits[0] * 10 + digits[1] < 24, digits[3] < 6
  else {
    throw EventError(
      .badValue,
      "\(field) \(excerpt(value)) is not a time of day from 00:00 to "
        + "\(orMidnight ? "24:00" : "23:59").", field: field)
  }
}
