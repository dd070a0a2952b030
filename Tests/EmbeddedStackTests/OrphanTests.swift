#if os(Linux)
  import EmbeddedStack
  import Foundation
  import Postgres
  import TestSupport
  import Testing

  /// Clusters whose owner is killed with SIGKILL.
  @Suite struct OrphanTests {
    private static let directoryVariable = "MAGPIE_TEST_CLUSTER_OWNER"
    /// Before the parent of a temporary directory.
    private static let temporaryIn = "temporary in "

    /// Not a test by itself: the others run it in a separate process and kill that.
    @Test(
      "owner of a cluster",
      .enabled(if: ProcessInfo.processInfo.environment[directoryVariable] != nil))
    func clusterOwner() async throws {
      let directory = ProcessInfo.processInfo.environment[Self.directoryVariable] ?? ""
      let cluster =
        directory.hasPrefix(Self.temporaryIn)
        ? try PrivateCluster.temporary(in: String(directory.dropFirst(Self.temporaryIn.count)))
        : try PrivateCluster.start(directory: directory, durable: true)
      let socket = try ConnectionInfo(cluster.url())["host"] ?? ""
      print("cluster \(cluster.processID ?? 0) \(cluster.directory) \(socket)")
      fflush(nil)
      // Until it is killed: by the other test or, if that test's process ends first, with it.
      while true { pause() }
    }

    private func run(_ directory: String, _ lines: Lines) throws -> ChildProcess {
      try ChildProcess(
        FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
        ["--testing-library", "swift-testing", "--filter", "OrphanTests/clusterOwner"],
        environment: [Self.directoryVariable: directory], output: .lines { lines.append($0) })
    }

    private func startOwner(_ directory: String) async throws -> (
      owner: ChildProcess, postmaster: Int32, directory: String, socket: String
    ) {
      let lines = Lines()
      let owner = try run(directory, lines)
      func announced() -> [Substring]? {
        lines.all.first { $0.hasPrefix("cluster ") }?.split(separator: " ")
      }
      do {
        try await eventually("the cluster") {
          #expect(owner.isRunning, "\(lines.all)")
          return announced() != nil
        }
        let words = try #require(announced())
        return (owner, try #require(Int32(words[1])), String(words[2]), String(words[3]))
      } catch {
        owner.terminate(SIGKILL)
        throw error
      }
    }

    private func isAlive(_ processID: Int32) -> Bool {
      guard kill(processID, 0) == 0 || errno == EPERM else { return false }
      // A zombie that is not reaped yet is not alive.
      let state = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
      return state?.contains(") Z ") != true
    }

    /// A new directory, which every account can enter.
    private func makeParent(_ inner: String = "") throws -> String {
      let path =
        FileManager.default.temporaryDirectory.path + "/magpie-test-\(UUID().uuidString.prefix(8))"
      try FileManager.default.createDirectory(
        atPath: path + inner, withIntermediateDirectories: true)
      return path
    }

    @Test(
      "a temporary cluster ends and its files are removed, also if its path is too long for a socket",
      arguments: ["", String(repeating: "/deep", count: 20)])
    func temporary(inner: String) async throws {
      let parent = try makeParent(inner)
      defer { try? FileManager.default.removeItem(atPath: parent) }
      let cluster = try await startOwner(Self.temporaryIn + parent + inner)
      #expect(isAlive(cluster.postmaster))
      #expect(FileManager.default.fileExists(atPath: cluster.directory + "/data/PG_VERSION"))
      #expect((cluster.socket == cluster.directory) == inner.isEmpty)
      cluster.owner.signal(SIGKILL)
      try await eventually("the end of the cluster") {
        !isAlive(cluster.postmaster)
          && [cluster.directory, cluster.socket].allSatisfy {
            !FileManager.default.fileExists(atPath: $0)
          }
      }
    }

    /// Whether initdb has begun, or has ended already: on a busy machine nobody may have looked meanwhile.
    private func hasInitdbBegun(_ directory: String) -> Bool {
      (namesOfInitdb(directory) + ["data"]).contains {
        FileManager.default.fileExists(atPath: "\(directory)/\($0)/pg_wal")
      }
    }

    private func namesOfInitdb(_ directory: String) -> [String] {
      let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
      return (names ?? []).filter { $0.hasPrefix("initdb-") }
    }

    @Test("a temporary cluster whose owner is killed during initdb leaves no files")
    func killedDuringInitdb() async throws {
      let parent = try makeParent()
      defer { try? FileManager.default.removeItem(atPath: parent) }
      func clusters() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: parent)
      }
      let owner = try run(Self.temporaryIn + parent, Lines())
      defer { owner.terminate(SIGKILL) }
      try await eventually("initdb has begun") {
        try clusters().contains { hasInitdbBegun("\(parent)/\($0)") }
      }
      owner.signal(SIGKILL)
      try await eventually("the end of the files") { try clusters().isEmpty }
    }

    @Test("a directory whose owner is killed during initdb can be used by another owner")
    func usedAfterKilledInitdb() async throws {
      let path = try makeParent()
      defer { try? FileManager.default.removeItem(atPath: path) }
      let owner = try run(path, Lines())
      defer { owner.terminate(SIGKILL) }
      try await eventually("initdb has begun") { hasInitdbBegun(path) }
      owner.terminate(SIGKILL)
      let cluster = try PrivateCluster.start(directory: path, durable: false)
      defer { cluster.stop() }
      _ = try Connection(cluster.url(), applicationName: "test").query("SELECT 1")
      try await eventually("the end of the other files") { namesOfInitdb(path).isEmpty }
    }

    @Test("a new owner of the same directory waits for the old server to end and takes over")
    func takeOver() async throws {
      let path =
        FileManager.default.temporaryDirectory.path + "/magpie-test-\(UUID().uuidString.prefix(8))"
      defer { try? FileManager.default.removeItem(atPath: path) }
      let first = try await startOwner(path)
      #expect(first.directory == path)
      first.owner.terminate(SIGKILL)
      let cluster = try PrivateCluster.start(directory: path, durable: true)
      defer { cluster.stop() }
      #expect(cluster.processID != first.postmaster)
      #expect(!isAlive(first.postmaster))
      _ = try Connection(cluster.url(), applicationName: "test").query("SELECT 1")
    }
  }
#endif
