import CLibPQ

/// Writes the rows of a binary COPY: `row(columns:)`, then one value per column, in the order and
/// with exactly the types of the COPY's column list (PostgreSQL does not convert them).
public struct CopyWriter {
  private static let chunkBytes = 64 << 10

  private let socket: ServerSocket
  private let connection: OpaquePointer
  private var writer = BinaryWriter()
  private(set) var rows = 0

  init(_ socket: ServerSocket, _ connection: OpaquePointer) {
    self.socket = socket
    self.connection = connection
    // Signature, no flags, no header extension.
    writer.bytes = [0x50, 0x47, 0x43, 0x4F, 0x50, 0x59, 0x0A, 0xFF, 0x0D, 0x0A, 0x00]
    writer.integer(Int32(0))
    writer.integer(Int32(0))
  }

  /// Starts a row of `columns` values.
  ///
  /// - Throws: `connection` if the connection is lost.
  public mutating func row(columns: Int16) throws {
    if writer.bytes.count >= Self.chunkBytes { try flush() }
    writer.integer(columns)
    rows += 1
  }

  /// text, varchar
  public mutating func text(_ value: String?) throws {
    try writer.field(value) { try $0.text($1) }
  }
  /// bigint
  public mutating func int8(_ value: Int64?) throws { writer.integerField(value) }
  /// bytea
  public mutating func bytea(_ value: [UInt8]?) throws {
    try writer.field(value) { $0.bytes.append(contentsOf: $1) }
  }

  mutating func finish() throws {
    writer.integer(Int16(-1))
    try flush()
  }

  /// Sends the buffered bytes, waiting while the server cannot take more.
  private mutating func flush() throws {
    let sent = writer.bytes.withUnsafeBytes { buffer in
      PQputCopyData(
        connection, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
    }
    writer.bytes.removeAll(keepingCapacity: true)
    guard sent == 1 else { throw socket.closeAsLost() }
    while true {
      let flushed = PQflush(connection)
      if flushed == 0 { return }
      if flushed < 0 { throw socket.closeAsLost() }
      try socket.exchange(connection, unsent: true, deadline: socket.silenceDeadline(statements: 1))
    }
  }
}

extension Connection {
  /// Runs `COPY … FROM STDIN (FORMAT binary)` with the rows that `body` writes.
  ///
  /// If `body` throws, the COPY fails and stores nothing.
  ///
  /// - Returns: the number of rows stored.
  /// - Throws: the error of `body` or the server.
  @discardableResult
  public func copyIn(_ sql: String, _ body: (inout CopyWriter) throws -> Void) throws -> Int {
    try markingTimeouts { try copy(sql, body) }
  }

  private func copy(_ sql: String, _ body: (inout CopyWriter) throws -> Void) throws -> Int {
    guard !sql.utf8.contains(0) else {
      throw PostgresError.usage("the SQL text contains a NUL byte")
    }
    let connection = try socket.open()
    guard PQsendQuery(connection, sql) == 1 else { throw socket.closeAsLost() }
    let start = try socket.receiveSimple(connection, sql: sql)
    if let error = start.error { throw error }
    guard start.wantsCopyData else {
      throw PostgresError.usage("copyIn needs COPY … FROM STDIN (FORMAT binary)")
    }
    var writer = CopyWriter(socket, connection)
    do {
      try body(&writer)
      try writer.finish()
    } catch {
      if status != .closed {
        PQputCopyEnd(connection, "the client aborted the COPY")
        _ = try? socket.receiveSimple(connection, sql: sql)
      }
      throw error
    }
    guard PQputCopyEnd(connection, nil) == 1 else { throw socket.closeAsLost() }
    let end = try socket.receiveSimple(connection, sql: sql)
    if let error = end.error { throw error }
    return end.affectedRows
  }
}
