import Foundation

/// The rows of a CSV file (RFC 4180, but no line breaks within a field), one at a time in bounded
/// memory.
///
/// The first line is a header if it consists of names of columns; it then determines their order.
/// Empty lines are skipped.
public final class CSVFile {
  /// The bytes of the longest line, with its line break.
  private static let lineBytesMax = 4 << 10

  private let path: String
  private let columns: [String]
  private let required: Int
  private let file: UnsafeMutablePointer<FILE>
  private var buffer = [CChar](repeating: 0, count: lineBytesMax + 1)
  /// The column of each field, and the least number of fields.
  private var order: [Int]
  private var least: Int
  /// The number of the line that was read last, from 1.
  public private(set) var line = 0

  /// - Parameters:
  ///   - columns: their names in lower case, in the order of a file without a header.
  ///   - required: how many of them, from the first one, every row must have.
  public init(_ path: String, columns: [String], required: Int) throws(CSVError) {
    guard let file = fopen(path, "r") else { throw CSVError(path, errno) }
    (self.path, self.columns, self.required, self.file) = (path, columns, required, file)
    (order, least) = (Array(columns.indices), required)
  }

  deinit { fclose(file) }

  /// The next row: the value of each column, empty if the row does not have it.
  public func next() throws(CSVError) -> [String]? {
    while let bytes = try nextLine() {
      if bytes.isEmpty { continue }
      guard let fields = Self.fields(bytes) else {
        throw error("a quotation mark is not closed, or is inside a field and not doubled")
      }
      if line == 1, readHeader(fields) { continue }
      var values = Array(repeating: "", count: columns.count)
      for (column, field) in zip(order, fields) { values[column] = field }
      guard fields.count >= least, fields.count <= order.count,
        !values.prefix(required).contains("")
      else {
        let names = columns.enumerated().map { $0 < required ? $1 : "[\($1)]" }
        throw error(
          "expected \(names.joined(separator: ",")), but found \(fields.count) fields, "
            + "\(fields.count { $0.isEmpty }) of them empty")
      }
      return values
    }
    return nil
  }

  /// An error in the line that was read last.
  public func error(_ problem: String) -> CSVError { CSVError("\(path):\(line): \(problem)") }

  private func readHeader(_ fields: [String]) -> Bool {
    let named = fields.compactMap { columns.firstIndex(of: $0.lowercased()) }
    guard named.count == fields.count, Set(named).count == named.count,
      Set(named).isSuperset(of: 0..<required)
    else { return false }
    (order, least) = (named, named.count)
    return true
  }

  /// Without its line break and a byte order mark.
  private func nextLine() throws(CSVError) -> [UInt8]? {
    guard fgets(&buffer, Int32(buffer.count), file) != nil else {
      guard ferror(file) == 0 else { throw CSVError(path, errno) }
      return nil
    }
    line += 1
    var bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    guard bytes.last == UInt8(ascii: "\n") || feof(file) != 0 else {
      throw error("expected at most \(Self.lineBytesMax) bytes and no NUL")
    }
    guard String(validating: bytes, as: UTF8.self) != nil else { throw error("expected UTF-8") }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    if line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    return bytes
  }

  private enum Field { case start, plain, quoted, closed }

  /// The fields of a line; nil if a quotation mark is misplaced.
  private static func fields(_ line: [UInt8]) -> [String]? {
    let (comma, quote) = (UInt8(ascii: ","), UInt8(ascii: "\""))
    var (fields, field, state): ([String], [UInt8], Field) = ([], [], .start)
    // The comma at the end ends the last field, unless its quotation mark is not closed.
    for byte in line + [comma] {
      switch (state, byte) {
      case (.start, quote): state = .quoted
      case (.quoted, quote): state = .closed
      // A doubled quotation mark stands for one.
      case (.closed, quote): (state, field) = (.quoted, field + [quote])
      case (.quoted, _): field.append(byte)
      case (_, comma):
        fields.append(String(decoding: field, as: UTF8.self))
        (state, field) = (.start, [])
      case (.closed, _), (_, quote): return nil
      default:
        field.append(byte)
        state = .plain
      }
    }
    return state == .quoted ? nil : fields
  }
}

/// A CSV file that cannot be used. The description names the file and the line.
public struct CSVError: Error, CustomStringConvertible {
  public var description: String

  init(_ description: String) { self.description = description }

  init(_ path: String, _ code: Int32) {
    self.init("\(path) cannot be read: \(String(cString: strerror(code)))")
  }
}
