#if os(Linux)
  import EmbeddedStack
  import Foundation
  import Postgres
  import TestSupport
  import Testing

  /// Clusters whose owner is killed with SIGKILL.
  @Suite struct OrphanTests {
    private static let directoryVariable = "MAGPIE_TEST_CLUSTER_OWNER"

    /// Not a test by itself: the others run it in a separate process and kill that.
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
      // Until it is killed: by the other test or, if that test's process ends first, with it.
      while true { pause() }
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
      // A zombie that is not reaped yet is not alive.
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

    @Test("a new owner of the same directory waits for the old server to end and takes over")
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
