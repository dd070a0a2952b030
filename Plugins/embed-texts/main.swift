import Foundation

// Writes a Swift file with the given texts: see the plugin EmbedTexts.

let paths = CommandLine.arguments.dropFirst()
guard let output = paths.first else {
  exit(failed("usage: embed-texts OUTPUT [TEXT ...]"))
}
do {
  let constants = try paths.dropFirst().sorted().map { try constant(URL(filePath: $0)) }
  let source = "enum PackageResources {\n\(constants.joined())}\n"
  try Data(source.utf8).write(to: URL(filePath: output), options: .atomic)
} catch {
  exit(failed("\(error)"))
}

func failed(_ problem: String) -> Int32 {
  FileHandle.standardError.write(Data("embed-texts: \(problem)\n".utf8))
  return 1
}

/// The file as a raw string literal, whose bytes are the file's.
func constant(_ file: URL) throws -> String {
  let bytes = try Data(contentsOf: file)
  // A literal has no other line ends than line feeds.
  guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(13), !bytes.contains(0)
  else {
    throw CocoaError(
      .fileReadInapplicableStringEncoding,
      userInfo: [NSFilePathErrorKey: file.path(percentEncoded: false)])
  }
  // Longer than every run of number signs in the text, so that nothing in it ends the literal or is an escape.
  let marks = String(repeating: "#", count: longestRun(of: "#", in: text) + 1)
  return """
      static let \(identifier(file.lastPathComponent)): [UInt8] = Array(\(marks)\"""
    \(text)
    \"""\(marks).utf8)

    """
}

func longestRun(of mark: Character, in text: String) -> Int {
  text.split { $0 != mark }.map(\.count).max() ?? 0
}

/// As SwiftPM names a resource: `0001_a-b.sql` is `_001_a_b_sql`.
func identifier(_ name: String) -> String {
  let letters = name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
  return letters[0].isNumber ? "_" + String(letters.dropFirst()) : String(letters)
}
