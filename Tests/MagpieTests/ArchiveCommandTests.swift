import Archive
import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import RecordLog
import TestSupport
import Testing

@Suite("magpie archive")
struct ArchiveCommandTests {
  @Test(
    "records that Kafka deleted before they were archived stop it, and the command that it prints helps"
  )
  func gap() async throws {
    var random = SeededGenerator()
    let stage = try ArchiveStage()
    defer { stage.close() }
    try stage.produce(200, &random)
    var process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0), "\(stage.log)")
    let place = TopicPartition(topic: "magpie.likes", partition: 1)
    let first = try ArchiveStage.everything(ArchiveLog(stage.storage), stage.topics)

    // The embedded broker keeps 5 MiB of each partition.
    for _ in 0..<14 {
      try stage.producer.send(
        (0..<10).map { _ in
          OutgoingRecord(
            topic: place.topic, partition: 1, key: nil, value: [UInt8](repeating: 1, count: 50_000))
        })
    }
    let held = try #require(try stage.kafka.spans(of: [place.topic])[place])
    process = try stage.start()
    #expect(process.wait(seconds: hangLimitSeconds) == .exited(1))
    let command = try #require(
      stage.log.split(separator: "run: magpie ").last?.split(separator: "\n").first)
    #expect(command.contains("--topic 'magpie.likes' --partition 1 --up-to \(held.lowerBound)"))
    let arguments = command.split(separator: " ").map { $0.filter { $0 != "'" } }
    let unread = try await stage.magpie(
      "replay", "--apply", "--dry-run", "--archive", stage.directory)
    #expect(unread.status == 66, "\(unread.output)")
    #expect(
      unread.error.contains("--topic magpie.likes --partition 1 --up-to \(held.lowerBound)"),
      "\(unread.error)")
    let end = try #require(try ArchiveLog(stage.storage).spans(of: [place.topic])[place]).upperBound
    for offset in [held.lowerBound + 1, end] {
      let refused = try await stage.magpie.run(arguments.dropLast() + ["\(offset)"])
      #expect(refused.status == 64, "\(refused.output)")
      #expect(
        refused.error.contains(
          "the archive ends at offset \(end) and Kafka's log begins at \(held.lowerBound)"),
        "\(refused.error)")
    }
    let accepted = try await stage.magpie.run(arguments)
    #expect(accepted.status == 0, "\(accepted.error)")
    let nothing = try await stage.magpie.run(arguments)
    #expect(
      nothing.status == 64 && nothing.error.contains("no records are lost"), "\(nothing.error)")

    process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0), "\(stage.log)")
    let verified = try await stage.magpie("archive", "verify", "--json")
    #expect(verified.status == 0)
    let gaps = try #require(
      try member("gaps", of: verified.lines.last ?? "", as: [[String: Any]].self))
    #expect(gaps.count == 1 && gaps[0]["next"] as? Int64 == held.lowerBound)
    let shown = try await stage.magpie("archive", "show")
    #expect(shown.output.contains("recorded gap: magpie.likes[1]"))
    let url = try TestDatabase.fresh()
    try Connection(url, applicationName: "test").query(
      "INSERT INTO consumer_offsets VALUES ('magpie.notification', $1, 1, $2, 1)",
      [.text(place.topic), .int8(held.lowerBound)])
    let plan = try await stage.magpie(
      "replay", "--rebuild", "notifications", "--dry-run", "--archive", stage.directory,
      "--database-url", url)
    #expect(
      plan.output.contains(
        "magpie.likes: \(end) records, \(held.lowerBound - end) others are gone from the log\n"),
      "\(plan)")
    #expect(plan.output.contains("Without --accept-missing-records, a rebuild stops"), "\(plan)")
    let deep = try await stage.magpie(
      "verify", "--deep", "--archive", stage.directory, "--database-url", url)
    #expect(deep.status == 66 && deep.error.contains("`magpie verify` without --deep"), "\(deep)")
    #expect(!deep.error.contains("--accept-missing-records"), "\(deep.error)")

    // Records that Kafka has deleted come from the archive.
    let archive = ArchiveLog(try stage.storage, passesGaps: true)
    let chained = try ArchiveStage.everything(
      ChainedLog(archive, then: stage.kafka), stage.topics)
    let inKafka = try ArchiveStage.everything(stage.kafka, stage.topics)
    #expect(chained[place] == (first[place] ?? []) + (inKafka[place] ?? []))
    #expect(chained.filter { $0.key != place } == first.filter { $0.key != place })
  }

  @Test("a recreated topic stops it, even if it is long enough")
  func anotherLog() async throws {
    var random = SeededGenerator()
    let stage = try ArchiveStage()
    defer { stage.close() }
    try stage.produce(200, &random)
    var process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0), "\(stage.log)")
    // The same log is recognized.
    try stage.produce(50, &random)
    process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0), "\(stage.log)")

    let other = try ArchiveStage(directory: stage.directory)
    defer { other.close() }
    try other.produce(2_000, &random)
    let generation = other.generation()
    process = try other.start()
    #expect(process.wait(seconds: hangLimitSeconds) == .exited(1))
    #expect(other.log.contains("is another log than the one applied so far"), "\(other.log)")
    #expect(other.log.contains("Archive it to a new directory"))
    #expect(other.generation() == generation + 1, "a new writer, and nothing written")
  }

  @Test("what reads an archive continued by Kafka refuses the archive of another log")
  func archiveOfAnotherLog() async throws {
    var random = SeededGenerator()
    let stage = try ArchiveStage()
    defer { stage.close() }
    try stage.produce(200, &random)
    let process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0), "\(stage.log)")
    try stage.produce(50, &random)
    // All topics are copies, except likes, which was recreated.
    let other = try ArchiveStage(directory: stage.directory)
    defer { other.close() }
    let likes = "magpie.likes"
    try other.producer.send(
      ArchiveStage.everything(stage.kafka, stage.topics.filter { $0 != likes }).values.joined().map
      {
        OutgoingRecord(
          topic: $0.topic, partition: $0.partition, wire: $0.wire,
          timestampMilliseconds: $0.timestampMilliseconds)
      })
    try other.producer.send(
      (0..<500).map {
        OutgoingRecord(topic: likes, partition: Int32($0 % 2), key: nil, value: [1])
      })
    let url = try TestDatabase.fresh()
    for command in [
      "replay --apply --dry-run", "replay --rebuild all --dry-run", "verify --deep",
    ] {
      let refused = try await other.magpie.run(
        command.split(separator: " ").map(String.init)
          + ["--archive", stage.directory, "--database-url", url])
      #expect(refused.status == 1, "\(command): \(refused.output)")
      #expect(refused.error.contains("is another log than the one applied so far"), "\(command)")
      #expect(refused.error.contains("Give the archive of this log"), "\(refused.error)")
    }
    // Shorter than the archive, so there is no record to compare.
    let shorter = try ArchiveStage(directory: stage.directory)
    defer { shorter.close() }
    let refused = try await shorter.magpie.run([
      "verify", "--deep", "--archive", stage.directory, "--database-url", url,
    ])
    #expect(refused.status == 1 && refused.error.contains("ends at offset 0"), "\(refused.error)")
    #expect(refused.error.contains("Give the archive of this log"), "\(refused.error)")
    for (magpie, topics) in [(stage.magpie, []), (other.magpie, ["--topic", "posts"])] {
      let same = try await magpie.run(
        ["replay", "--apply", "--dry-run", "--archive", stage.directory] + topics)
      #expect(same.status == 0, "\(same.error)")
    }
  }

  @Test("reading continues in Kafka where the archive ends; a gap between them is an error")
  func chained() async throws {
    var random = SeededGenerator()
    let stage = try ArchiveStage()
    defer { stage.close() }
    try stage.produce(300, &random)
    let process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0))
    try stage.produce(300, &random)
    let log = ChainedLog(ArchiveLog(try stage.storage), then: try stage.kafka)
    let all = try ArchiveStage.everything(stage.kafka, stage.topics)
    #expect(try ArchiveStage.everything(log, stage.topics) == all)
    let time = try #require(all.values.joined().map(\.timestampMilliseconds).max())
    let spans = try log.spans(of: stage.topics)
    #expect(try log.offsets(at: 0, in: spans) == spans.mapValues(\.lowerBound))
    #expect(try log.offsets(at: time + 1, in: spans) == spans.mapValues(\.upperBound))

    let place = TopicPartition(topic: "magpie.likes", partition: 0)
    for _ in 0..<14 {
      try stage.producer.send(
        (0..<10).map { _ in
          OutgoingRecord(
            topic: place.topic, partition: 0, key: nil, value: [UInt8](repeating: 1, count: 50_000))
        })
    }
    let end = try #require(
      try ArchiveLog(stage.storage).spans(of: [place.topic])[place]?.upperBound)
    let low = try #require(try stage.kafka.spans(of: [place.topic])[place]?.lowerBound)
    #expect(throws: RecordLogError.gap(place, missing: end..<low)) {
      try log.spans(of: stage.topics)
    }
  }

  @Test("a running archiver reports its health, and is not ready while Kafka is down")
  func health() async throws {
    let stage = try ArchiveStage()
    defer { stage.close() }
    let process = try stage.start()
    try await eventually("its port is logged") {
      stage.log.contains("/metrics address=")
    }
    let address = try #require(stage.log.firstMatch(of: /\/metrics address=\S*?:([0-9]+)\s/))
    let port = String(address.1)
    try await eventually("it is ready") {
      try await stage.magpie("healthcheck", "--port", port).status == 0
    }
    try stage.broker.setDown()
    try await eventually("it is unready") {
      try await stage.magpie("healthcheck", "--port", port).status == 1
    }
    #expect(try await stage.magpie("healthcheck", "--live", "--port", port).status == 0)
    try stage.broker.setUp()
    try await eventually("it is ready again") {
      try await stage.magpie("healthcheck", "--port", port).status == 0
    }
    #expect(process.terminate() == .exited(0), "\(stage.log)")
  }

  @Test("magpie lag shows the archive once it exists")
  func lag() async throws {
    var random = SeededGenerator()
    let stage = try ArchiveStage()
    defer { stage.close() }
    // So many that no partition stays empty: those without a record have no line.
    try stage.produce(800, &random)
    let url = try TestDatabase.fresh()
    let before = try await stage.magpie("lag", "--json", "--database-url", url)
    #expect(before.status == 0 && !before.output.contains("magpie.archive"), "\(before.error)")
    let process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0))
    try stage.produce(30, &random)
    let after = try await stage.magpie("lag", "--json", "--database-url", url)
    let rows = after.lines.filter { $0.contains("\"magpie.archive\"") }
    #expect(rows.count == 2 * stage.topics.count)
    let lag = try rows.reduce(0) { $0 + (try member("lag", of: $1, as: Int.self) ?? 0) }
    #expect(lag == 30)
    let table = try await stage.magpie("lag", "--database-url", url)
    #expect(table.output.contains("magpie.archive  lag 30"))
  }

  @Test("verify names file and fault and exits 1; without an archive, 69; without --dir, 64")
  func exitCodes() async throws {
    var random = SeededGenerator()
    let stage = try ArchiveStage()
    defer { stage.close() }
    #expect(try await stage.magpie("archive", "verify").status == 69)
    try stage.produce(100, &random)
    let process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0))
    let name = try #require(try stage.storage.list("segments/").keys.min())
    let path = stage.directory + "/" + name
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    let text = try await stage.magpie("archive", "verify")
    #expect(text.status == 1 && text.output.contains(name))
    let json = try await stage.magpie("archive", "verify", "--json")
    #expect(json.status == 1)
    #expect(try member("file", of: json.lines[0], as: String.self) == name)
    #expect(try await Tool()("archive", "verify").status == 64)
    #expect(try await stage.magpie("archive", "run", "--dir", "/proc/nowhere").status != 0)
  }

  @Test(
    "the archiver waits while the disk is full, and loses nothing", .enabled(if: Mount.isPossible))
  func fullDisk() async throws {
    var random = SeededGenerator()
    let mount = try Mount(kibibytes: 400)
    defer { mount.remove() }
    let stage = try ArchiveStage(directory: mount.path + "/archive")
    defer { stage.close() }
    let process = try stage.start()
    for _ in 0..<8 { try stage.produce(600, &random) }
    try await eventually("the disk is full") {
      stage.log.contains("No space left on device")
    }
    #expect(process.isRunning)
    #expect(try ArchiveVerification(stage.storage).findings == [])
    try mount.resize(kibibytes: 16_000)
    try await stage.waitUntilCaughtUp(process)
    #expect(process.terminate() == .exited(0))
    #expect(
      try ArchiveStage.everything(ArchiveLog(stage.storage), stage.topics)
        == ArchiveStage.everything(stage.kafka, stage.topics))
    #expect(try ArchiveVerification(stage.storage).findings == [])
  }
}

/// A small file system in memory, if this process may mount one.
struct Mount {
  static let isPossible: Bool = {
    guard geteuid() == 0, let mount = try? Mount(kibibytes: 64) else { return false }
    mount.remove()
    return true
  }()

  let path = NSTemporaryDirectory() + "mount-\(UUID().uuidString.prefix(13))"

  init(kibibytes: Int) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try run("mount", "-t", "tmpfs", "-o", "size=\(kibibytes)k", "tmpfs", path)
  }

  func resize(kibibytes: Int) throws {
    try run("mount", "-o", "remount,size=\(kibibytes)k", path)
  }

  func remove() {
    try? run("umount", "--lazy", path)
    try? FileManager.default.removeItem(atPath: path)
  }

  private func run(_ command: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardError = FileHandle.nullDevice
    try process.start()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw StackError("\(command) failed") }
  }
}
