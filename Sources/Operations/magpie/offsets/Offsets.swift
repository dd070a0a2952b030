import ArgumentParser

struct Offsets: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Where each worker goes on in each partition: look, move, carry to another cluster.",
    discussion: """
      The offsets are in PostgreSQL, in the tables' own database: they say exactly which records the \
      tables hold. Whatever moves one fences the lane that has the partition, which then goes on from \
      the new offset by itself.
      """,
    subcommands: [
      OffsetsShow.self, OffsetsReset.self, OffsetsExport.self, OffsetsImport.self,
    ])
}
