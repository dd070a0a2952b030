/// The encoded parameters of one statement in one buffer, as libpq takes them.
struct EncodedParameters {
  /// The first byte is unused, so that the address of an empty value is never nil (nil means NULL).
  private var writer = BinaryWriter(bytes: [0])
  private var offsets: [Int] = []
  private(set) var lengths: [Int32] = []
  private(set) var types: [UInt32] = []

  var byteCount: Int { writer.bytes.count }

  init(_ parameters: [Parameter]) throws {
    guard parameters.count <= 65_535 else {
      throw PostgresError.usage(
        "\(parameters.count) parameters; PostgreSQL allows 65,535. Use arrays and unnest.")
    }
    for (index, parameter) in parameters.enumerated() {
      let start = writer.bytes.count
      let isNull: Bool
      do {
        isNull = try !parameter.write(to: &writer)
      } catch var error as PostgresError {
        error.message = "parameter $\(index + 1): \(error.message)"
        throw error
      }
      let length = writer.bytes.count - start
      guard length <= Parameter.maximumBytes else {
        throw PostgresError.usage(
          "parameter $\(index + 1) has \(length) bytes, more than the limit of "
            + "\(Parameter.maximumBytes); send it in smaller batches")
      }
      offsets.append(isNull ? -1 : start)
      lengths.append(Int32(length))
      types.append(parameter.type)
    }
  }

  /// Calls `body` with one pointer per parameter, nil for NULL; the pointers are valid only during
  /// the call.
  func withPointers<R>(_ body: ([UnsafePointer<CChar>?]) -> R) -> R {
    writer.bytes.withUnsafeBytes { buffer in
      body(
        offsets.map { offset in
          guard offset >= 0, let base = buffer.baseAddress else { return nil }
          return base.advanced(by: offset).assumingMemoryBound(to: CChar.self)
        })
    }
  }
}

extension Parameter {
  var type: UInt32 {
    switch self {
    case .text: TypeOID.text
    case .int2: TypeOID.int2
    case .int4: TypeOID.int4
    case .int8: TypeOID.int8
    case .bool: TypeOID.bool
    case .bytea: TypeOID.bytea
    case .uuid: TypeOID.uuid
    case .double: TypeOID.float8
    case .timestamptz: TypeOID.timestamptz
    case .textArray: TypeOID.textArray
    case .int2Array: TypeOID.int2Array
    case .int4Array: TypeOID.int4Array
    case .int8Array: TypeOID.int8Array
    case .boolArray: TypeOID.boolArray
    case .byteaArray: TypeOID.byteaArray
    case .uuidArray: TypeOID.uuidArray
    case .timestamptzArray: TypeOID.timestamptzArray
    case .jsonbArray: TypeOID.jsonbArray
    }
  }

  /// Writes the value without a length word; false if it is NULL.
  func write(to writer: inout BinaryWriter) throws -> Bool {
    switch self {
    case .text(let value?): try writer.text(value)
    case .int2(let value?): writer.integer(value)
    case .int4(let value?): writer.integer(value)
    case .int8(let value?): writer.integer(value)
    case .bool(let value?): writer.bool(value)
    case .bytea(let value?): writer.bytes.append(contentsOf: value)
    case .uuid(let value?): writer.uuid(value)
    case .double(let value?): writer.double(value)
    case .timestamptz(let value?): try writer.timestamptz(value)
    case .textArray(let all): try writer.array(all, type: TypeOID.text) { try $0.text($1) }
    case .int2Array(let all): try writer.array(all, type: TypeOID.int2) { $0.integer($1) }
    case .int4Array(let all): try writer.array(all, type: TypeOID.int4) { $0.integer($1) }
    case .int8Array(let all): try writer.array(all, type: TypeOID.int8) { $0.integer($1) }
    case .boolArray(let all): try writer.array(all, type: TypeOID.bool) { $0.bool($1) }
    case .byteaArray(let all):
      try writer.array(all, type: TypeOID.bytea) { $0.bytes.append(contentsOf: $1) }
    case .uuidArray(let all): try writer.array(all, type: TypeOID.uuid) { $0.uuid($1) }
    case .timestamptzArray(let all):
      try writer.array(all, type: TypeOID.timestamptz) { try $0.timestamptz($1) }
    case .jsonbArray(let all): try writer.array(all, type: TypeOID.jsonb) { try $0.jsonb($1) }
    default: return false
    }
    return true
  }
}
