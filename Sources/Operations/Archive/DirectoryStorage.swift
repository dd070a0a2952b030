import Foundation

/// An archive in a directory of a local file system.
///
/// Writes files under a temporary name, syncs and renames them, and syncs the directory.
/// Thread-safe.
public final class DirectoryStorage: ArchiveStorage {
  public let directory: String

  /// - Parameter creating: whether to create a missing directory.
  public init(_ directory: String, creating: Bool = false) throws {
    self.directory = directory
    if creating {
      do {
        try FileManager.default.createDirectory(
          atPath: directory, withIntermediateDirectories: true)
      } catch {
        throw ArchiveError(
          .unusable, "cannot create \(directory): \(error.localizedDescription)")
      }
    }
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory),
      isDirectory.boolValue
    else { throw ArchiveError(.missing, "\(directory) is not a directory") }
  }

  public func put(_ key: String, _ bytes: [UInt8]) throws {
    let path = path(key)
    let parent = (path as NSString).deletingLastPathComponent
    if mkdir(parent, 0o755) == 0 {
      try sync(directory: directory)
    } else if errno != EEXIST {
      throw failure(key, "cannot create its directory")
    }
    let temporary = path + Self.temporarySuffix
    do {
      try write(bytes, to: temporary, key)
      guard rename(temporary, path) == 0 else { throw failure(key, "cannot rename") }
    } catch {
      unlink(temporary)
      throw error
    }
    try sync(directory: parent)
  }

  public func get(_ key: String, maxByteCount: Int) throws -> [UInt8] {
    let descriptor = open(path(key), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR {
        throw ArchiveError(.missing, file: key, "no such file")
      }
      throw failure(key, "cannot open")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure(key, "cannot stat") }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw ArchiveError(.damaged, file: key, "not a regular file")
    }
    let size = Int(status.st_size)
    guard size <= maxByteCount else {
      throw ArchiveError(.damaged, file: key, "\(size) bytes, but the limit is \(maxByteCount)")
    }
    var problem: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = 0
      while count < size {
        let part = read(descriptor, buffer.baseAddress?.advanced(by: count), size - count)
        if part < 0, errno == EINTR { continue }
        if part < 0 { problem = errno }
        guard part > 0 else { break }
        count += part
      }
    }
    guard problem == 0 else { throw failure(key, "cannot read", problem) }
    return bytes
  }

  public func list(_ prefix: String) throws -> [String: Int] {
    var result: [String: Int] = [:]
    for folder in ["", "segments/", "pages/"] {
      let path = directory + "/" + folder
      guard FileManager.default.fileExists(atPath: path) else { continue }
      for name in try FileManager.default.contentsOfDirectory(atPath: path) {
        var status = stat()
        guard lstat(path + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
        let key = folder + name
        if key.hasPrefix(prefix) { result[key] = Int(status.st_size) }
      }
    }
    return result
  }

  public func delete(_ key: String) throws {
    guard unlink(path(key)) == 0 || errno == ENOENT else { throw failure(key, "cannot delete") }
  }

  public func replace(_ key: String, _ bytes: [UInt8], ifStill before: [UInt8]?) throws -> Bool {
    // Held only while comparing and renaming; the kernel releases it if the process dies.
    let lock = try FileLock(path: path(key) + ".lock", isWaiting: true)
    return try withExtendedLifetime(lock) {
      var present: [UInt8]?
      do {
        present = try get(key, maxByteCount: max(bytes.count, before?.count ?? 0))
      } catch let error as ArchiveError where error.code == .missing {
      } catch let error as ArchiveError where error.code == .damaged {
        return false
      }
      if present == bytes {
        try sync(directory: directory)
        return true
      }
      guard present == before else { return false }
      try put(key, bytes)
      return true
    }
  }

  /// Takes the exclusive right to write this archive. Released when the value is deinitialized or
  /// the process ends, however it ends.
  ///
  /// Throws `ArchiveError` with code `locked` if another process holds it.
  public func lockForWriting() throws -> some Sendable {
    try FileLock(path: path("lock"), isWaiting: false)
  }

  /// Takes the exclusive right to erase from this archive, which may be written meanwhile.
  ///
  /// Throws `ArchiveError` with code `locked` if another process holds it.
  public func lockForErasing() throws -> some Sendable {
    do {
      return try FileLock(path: path(Self.erasureLock), isWaiting: false)
    } catch let error as ArchiveError where error.code == .locked {
      throw ArchiveError(
        .locked, file: Self.erasureLock,
        "another process is erasing from this archive; wait until it ends, then run this again")
    }
  }

  static let erasureLock = "erasure.lock"

  /// The suffix of files that are still being written.
  static let temporarySuffix = ".tmp"

  private func path(_ key: String) -> String { directory + "/" + key }

  private func write(_ bytes: [UInt8], to path: String, _ key: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure(key, "cannot create") }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure(key, "cannot write") }
      rest = rest.dropFirst(count)
    }
    // After a failed sync the state on disk is unknown: the caller writes the file again.
    guard flush(descriptor) else { throw failure(key, "cannot sync") }
  }

  private func sync(directory path: String) throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, "cannot open") }
    defer { close(descriptor) }
    guard flush(descriptor) else { throw failure(path, "cannot sync") }
  }

  private func flush(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      // On Darwin, fsync leaves the bytes in the drive's cache.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
    #endif
    return fsync(descriptor) == 0
  }

  private func failure(_ key: String, _ what: String, _ code: Int32 = errno) -> ArchiveError {
    ArchiveError(.system(code), file: key, "\(what): \(String(cString: strerror(code)))")
  }
}

/// An advisory file lock, held until the value is deinitialized or the process ends.
private final class FileLock: Sendable {
  private let descriptor: Int32

  init(path: String, isWaiting: Bool) throws {
    let name = (path as NSString).lastPathComponent
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw ArchiveError(
        .system(errno), file: name, "cannot open: \(String(cString: strerror(errno)))")
    }
    var result: Int32
    repeat {
      result = flock(descriptor, LOCK_EX | (isWaiting ? 0 : LOCK_NB))
    } while result != 0 && errno == EINTR
    guard result == 0 else {
      let code = errno
      close(descriptor)
      if code == EWOULDBLOCK {
        throw ArchiveError(
          .locked, file: name,
          "another process is writing this archive; an archive has one writer at a time")
      }
      throw ArchiveError(
        .system(code), file: name, "cannot lock: \(String(cString: strerror(code)))")
    }
  }

  deinit { close(descriptor) }
}
