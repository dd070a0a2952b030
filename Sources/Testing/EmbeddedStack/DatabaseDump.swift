public import Foundation

/// Everything that a database holds, as `pg_dump` writes it.
public struct DatabaseDump: Sendable {
  public let bytes: Data

  /// - Throws: `StackError` if `pg_dump` is missing or fails.
  public init(of url: String) throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "dump-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let (file, log) = (directory.appending(path: "dump"), directory.appending(path: "log"))
    let child = try ChildProcess(
      PostgresBinaries.find().dump,
      ["--dbname=\(url)", "--encoding=UTF8", "--file=\(file.path)"], output: .file(log.path))
    guard let exit = child.wait(seconds: 600) else {
      child.terminate(9)
      throw StackError("pg_dump did not finish within ten minutes")
    }
    guard exit == .exited(0) else {
      throw StackError("pg_dump: \(exit): \((try? String(contentsOf: log, encoding: .utf8)) ?? "")")
    }
    bytes = try Data(contentsOf: file)
  }

  /// Where these words are: one place of each, with its table.
  public func places(of words: [String]) -> [String] {
    words.compactMap { word in
      guard let range = findWord(word, in: bytes) else { return nil }
      let table = bytes.range(
        of: Data("\nCOPY ".utf8), options: .backwards, in: bytes.startIndex..<range.lowerBound)
      let name = table.map { bytes[$0.upperBound...].prefix(60) } ?? Data()
      let excerpt = bytes[max(bytes.startIndex, range.lowerBound - 80)..<range.upperBound]
      return
        "\(word): \(String(decoding: name, as: UTF8.self).split(separator: "(").first ?? "?"): "
        + String(decoding: excerpt, as: UTF8.self)
    }
  }
}

/// Where the word is and is no part of a longer one, as text or, if it is long enough not to be found by chance, in
/// hexadecimal, as `bytea` is written.
///
/// Of a word with quotes or backslashes, finds the longest part between them, because they are escaped in several
/// ways.
public func findWord(_ word: String, in bytes: Data) -> Range<Data.Index>? {
  let part = word.split { "\"\\\n\t".contains($0) }.max { $0.utf8.count < $1.utf8.count } ?? ""
  guard !part.isEmpty else { return nil }
  func isPartOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
      true
    default: false
    }
  }
  var start = bytes.startIndex
  while let range = bytes.range(of: Data(part.utf8), in: start..<bytes.endIndex) {
    let before = range.lowerBound > bytes.startIndex ? bytes[range.lowerBound - 1] : 0
    let after = range.upperBound < bytes.endIndex ? bytes[range.upperBound] : 0
    // What begins or ends with a sign is found within words, too.
    let begins = !isPartOfWord(before) || !isPartOfWord(bytes[range.lowerBound])
    let ends = !isPartOfWord(after) || !isPartOfWord(bytes[range.upperBound - 1])
    if begins, ends { return range }
    start = range.lowerBound + 1
  }
  guard word.utf8.count >= 8 else { return nil }
  let digits = word.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  return bytes.range(of: Data(digits.utf8))
}
