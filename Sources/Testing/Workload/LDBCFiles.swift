import Events
import Foundation

/// The benchmark's files in one directory.
struct LDBCFiles {
  private let directory: String
  private let names: [String]

  init(directory: String) throws(LDBCError) {
    self.directory = directory
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    } catch {
      throw LDBCError(
        "The directory \(directory) cannot be read: \(error.localizedDescription)",
        isUnreadable: true)
    }
  }

  func readSnapshot(into network: inout LDBCNetwork) throws(LDBCError) {
    try snapshot("person", ["id", "firstName", "lastName", "creationDate"]) {
      line throws(LDBCError) in
      network.people[line[0]] = .init(
        id: line[0], firstName: line[1], lastName: line[2], created: try line.date(3))
    }
    try snapshot("person_speaks_language", ["Person.id", "language"]) { line in
      network.languages[line[0], default: []].append(line[1])
    }
    try snapshot("person_knows_person", ["Person.id", "Person.id", "creationDate"]) {
      line throws(LDBCError) in
      network.friendships.append((line[0], line[1], try line.date(2)))
    }
    try snapshot("post", ["id", "imageFile", "content", "creator", "creationDate"]) {
      line throws(LDBCError) in
      network.posts[line[0]] = .init(
        id: line[0], imageFile: line[1], content: line[2], author: line[3],
        created: try line.date(4))
    }
    try snapshot(
      "comment", ["id", "content", "creator", "replyOfPost", "replyOfComment", "creationDate"]
    ) { line throws(LDBCError) in
      network.comments[line[0]] = .init(
        id: line[0], content: line[1], author: line[2], replyOfPost: line.reference(3),
        replyOfComment: line.reference(4), created: try line.date(5))
    }
    try snapshot("person_likes_post", ["Person.id", "Post.id", "creationDate"]) {
      line throws(LDBCError) in
      network.likes.append((line[0], line[1], try line.date(2)))
    }
    try snapshot("person_likes_comment", ["Person.id"]) { _ in
      network.skipped["likes of comments", default: 0] += 1
    }
  }

  func readUpdates(into network: inout LDBCNetwork) throws(LDBCError) {
    for name in names where name.hasPrefix("updateStream_") && name.hasSuffix(".csv") {
      for (number, fields) in try lines(of: name) {
        let line = LDBCLine(file: name, number: number, fields: fields)
        guard fields.count > 4, let operation = Int(fields[2]) else {
          throw line.malformed("is not an operation")
        }
        try line.apply(operation, to: &network)
      }
    }
  }

  /// Reads every line of `<name>_<n>_<n>.csv`, reduced to the named columns in this order.
  private func snapshot(
    _ name: String, _ columns: [String],
    _ body: (LDBCLine) throws(LDBCError) -> Void
  ) throws(LDBCError) {
    let files = names.filter {
      $0.hasPrefix(name + "_") && $0.hasSuffix(".csv")
        && $0.dropFirst(name.count + 1).dropLast(4).allSatisfy { $0.isNumber || $0 == "_" }
    }
    guard !files.isEmpty else {
      throw LDBCError(
        "There is no \(name)_0_0.csv in \(directory); is it an LDBC SNB snapshot?",
        isUnreadable: true)
    }
    for file in files {
      let lines = try lines(of: file)
      guard let header = lines.first?.fields else { continue }
      var indices: [Int] = []
      for column in columns {
        // A friendship's two columns have the same name.
        let from = indices.last.map { header[$0] == column ? $0 + 1 : 0 } ?? 0
        guard let index = header[from...].firstIndex(of: column) else {
          throw LDBCError("\(file) has no column \(column) in its first line. \(wantedLayout)")
        }
        indices.append(index)
      }
      for (number, fields) in lines.dropFirst() {
        let line = LDBCLine(file: file, number: number, fields: fields)
        guard fields.count == header.count else {
          throw line.malformed("has \(fields.count) fields instead of \(header.count)")
        }
        try body(LDBCLine(file: file, number: number, fields: indices.map { fields[$0] }))
      }
    }
  }

  private func lines(of file: String) throws(LDBCError) -> [(number: Int, fields: [String])] {
    guard let data = FileManager.default.contents(atPath: directory + "/" + file) else {
      throw LDBCError("\(directory)/\(file) cannot be read.", isUnreadable: true)
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw LDBCError("\(directory)/\(file) is not valid UTF-8.")
    }
    // Split bytes: "\r\n" is a single Character, and a combining mark would hide a separator.
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.enumerated().compactMap { index, line -> (number: Int, fields: [String])? in
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      guard !line.isEmpty else { return nil }
      let fields = line.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
      return (index + 1, fields.map { String(Substring($0)) })
    }
  }
}

/// The generator writes several layouts; this describes the supported one.
private let wantedLayout = """
  The supported layout has times as text, such as 2010-02-14T15:32:10.447+0000 \
  (StringDateFormatter, not LongDateFormatter with milliseconds), and stores foreign keys in the \
  file of the referring entity (CsvMergeForeign, not one file per relation): post_0_0.csv and \
  comment_0_0.csv have a column creator.
  """

/// A line's fields, with its position for error messages.
struct LDBCLine {
  var file: String
  var number: Int
  var fields: [String]

  subscript(_ index: Int) -> String { index < fields.count ? fields[index] : "" }

  func malformed(_ what: String) -> LDBCError { LDBCError("\(file):\(number) \(what).") }

  /// ISO 8601 as in the snapshot, with an offset such as +0000.
  func date(_ index: Int) throws(LDBCError) -> EventTime {
    let text = self[index]
    guard text.utf8.count > 5,
      let time = try? EventTime(rfc3339: text.dropLast(2) + ":" + text.suffix(2))
    else {
      throw LDBCError("\(file):\(number) has the invalid time \"\(text)\". \(wantedLayout)")
    }
    return time
  }

  /// Milliseconds since 1970, as in the update streams.
  func milliseconds(_ index: Int) throws(LDBCError) -> EventTime {
    guard let milliseconds = Int64(self[index]), (-1 << 50...1 << 50).contains(milliseconds) else {
      throw malformed("has the invalid time \"\(self[index])\"")
    }
    return EventTime(microseconds: milliseconds * 1000)
  }

  /// An id; nil if the field is empty or -1, which mean "none".
  func reference(_ index: Int) -> String? {
    self[index].isEmpty || self[index] == "-1" ? nil : self[index]
  }

  func apply(_ operation: Int, to network: inout LDBCNetwork) throws(LDBCError) {
    switch operation {
    case 1:
      network.people[self[3]] = .init(
        id: self[3], firstName: self[4], lastName: self[5],
        languages: self[12].split(separator: ";").map(String.init), created: try milliseconds(8))
    case 2: network.likes.append((self[3], self[4], try milliseconds(5)))
    case 3: network.skipped["likes of comments", default: 0] += 1
    case 4: network.skipped["forums", default: 0] += 1
    case 5: network.skipped["forum memberships", default: 0] += 1
    case 6:
      network.posts[self[3]] = .init(
        id: self[3], imageFile: self[4], content: self[9], author: self[11],
        created: try milliseconds(5))
    case 7:
      network.comments[self[3]] = .init(
        id: self[3], content: self[7], author: self[9], replyOfPost: reference(11),
        replyOfComment: reference(12), created: try milliseconds(4))
    case 8: network.friendships.append((self[3], self[4], try milliseconds(5)))
    default: throw malformed("has the operation \(operation), which the benchmark does not define")
    }
  }
}
