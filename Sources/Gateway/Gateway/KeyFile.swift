import Events
import Foundation
import Logging
import Synchronization

/// A key set in a file, read again when the file changes. Thread-safe.
final class KeyFile: Sendable {
  private let path: String
  private let state: Mutex<State>

  private struct State: Sendable {
    var keys: KeySet
    var stamp: Stamp?
  }

  /// Identifies a version of the file, also when a symbolic link to it changes.
  private struct Stamp: Equatable, Sendable {
    var modified: Date?
    var inode: UInt64?
    var bytes: UInt64?
  }

  /// - Throws: ``KeySetError`` if the file cannot be read or used.
  init(_ path: String) async throws(KeySetError) {
    self.path = path
    let stamp = Self.stamp(path)
    state = Mutex(State(keys: try await Self.read(path), stamp: stamp))
  }

  /// The keys in use.
  var keys: KeySet { state.withLock { $0.keys } }

  /// Reads the file again if it has changed. If the new contents are not valid, the previous keys
  /// stay in use.
  func refresh(_ logger: Logger) async {
    // Taken before reading: a change during the read is noticed the next time.
    let stamp = Self.stamp(path)
    guard state.withLock({ $0.stamp != stamp }) else { return }
    do throws(KeySetError) {
      let keys = try await Self.read(path)
      state.withLock { $0 = State(keys: keys, stamp: stamp) }
      logger.log(
        level: keys.unusable.isEmpty ? .info : .warning, "read the keys of tokens again",
        metadata: keys.metadata)
    } catch {
      state.withLock { $0.stamp = stamp }
      logger.error("the previous key set stays in use: \(error)")
    }
  }

  private static func read(_ path: String) async throws(KeySetError) -> KeySet {
    let data = try contents(ofKeySet: path)
    do throws(KeySetError) {
      return try await KeySet(json: data)
    } catch {
      throw KeySetError("\(path): \(error)")
    }
  }

  private static func stamp(_ path: String) -> Stamp {
    let target = URL(filePath: path).resolvingSymlinksInPath().path
    let attributes = try? FileManager.default.attributesOfItem(atPath: target)
    return Stamp(
      modified: attributes?[.modificationDate] as? Date,
      inode: (attributes?[.systemFileNumber] as? NSNumber)?.uint64Value,
      bytes: (attributes?[.size] as? NSNumber)?.uint64Value)
  }
}

func contents(ofKeySet path: String) throws(KeySetError) -> Data {
  switch BoundedFile(path: path, limit: GatewayLimits.keyFileBytes) {
  case .bytes(let bytes) where !bytes.isEmpty: return Data(bytes)
  case .bytes: throw KeySetError("\(path) is empty")
  case .missing: throw KeySetError("\(path) cannot be read; is it a regular file?")
  case .failure(let reason): throw KeySetError("\(path) cannot be read: \(reason)")
  }
}
