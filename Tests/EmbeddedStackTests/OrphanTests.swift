#if os(Linux)
  import EmbeddedStack
  import Foundation
  import Postgres
  import TestSupport
  import Testing

  /// What becomes of a cluster whose owner is killed with -9.
  @Suite struct OrphanTests {
    private static let directoryVariable = "MAGPIE_TEST_CLUSTER_OWNER"

    /// Not a test by itself: what the others run in a process of its own, and kill.
    @Test(
      "owner of a cluster",
      .enabled(if: ProcessInfo.processInfo.environment[directoryVariable] != nil))
    func clusterOwner() async throws {
      let directory = ProcessInfo.processInfo.environment[Self.directoryVariable] ?? ""
      let cluster =
        directory == "temporary"
        ? try PrivateCluster.temporary()
        : try PrivateCluster.start(directory: directory, durable: true)
      print("cluster \(cluster.processID ?? 0) \(cluster.directory)")
      fflush(nil)
      // Until it is killed.
      try await eventually("the end") { false }
    }

    private func startOwner(_ directory: String) async throws -> (
      owner: ChildProcess, postmaster: Int32, directory: String
    ) {
      let lines = Lines()
      let owner = try ChildProcess(
        FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
        ["--testing-library", "swift-testing", "--filter", "OrphanTests/clusterOwner"],
        environment: [Self.directoryVariable: directory], output: .lines { lines.append($0) })
      func announced() -> [Substring]? {
        lines.all.first { $0.hasPrefix("cluster ") }?.split(separator: " ")
      }
      do {
        try await eventually("the cluster") {
          #expect(owner.isRunning, "\(lines.all)")
          return announced() != nil
        }
        let words = try #require(announced())
        return (owner, try #require(Int32(words[1])), String(words[2]))
      } catch {
        owner.terminate(SIGKILL)
        throw error
      }
    }

    private func isAlive(_ processID: Int32) -> Bool {
      guard kill(processID, 0) == 0 || errno == EPERM else { return false }
      // A zombie that nobody reaps yet is not alive.
      let state = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
      return state?.contains(") Z ") != true
    }

    @Test("a temporary cluster ends and its files are removed")
    func temporary() async throws {
      let (owner, postmaster, directory) = try await startOwner("temporary")
      #expect(isAlive(postmaster))
      #expect(FileManager.default.fileExists(atPath: directory + "/data/PG_VERSION"))
      owner.signal(SIGKILL)
      try await eventually("the end of the cluster") {
        !isAlive(postmaster) && !FileManager.default.fileExists(atPath: directory)
      }
    }

    @Test("whoever starts on the same directory at once waits for the old server and takes over")
    func takeOver() async throws {
      let path =
        FileManager.default.temporaryDirectory.path + "/magpie-test-\(UUID().uuidString.prefix(8))"
      defer { try? FileManager.default.removeItem(atPath: path) }
      let (owner, postmaster, directory) = try await startOwner(path)
      #expect(directory == path)
      owner.terminate(SIGKILL)
      let cluster = try PrivateCluster.start(directory: path, durable: true)
      defer { cluster.stop() }
      #expect(cluster.processID != postmaster)
      #expect(!isAlive(postmaster))
      _ = try Connection(cluster.url(), applicationName: "test").query("SELECT 1")
    }
  }
#endif
