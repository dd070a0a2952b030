import Foundation

/// Base64 with the URL-safe alphabet and without padding (RFC 4648, 5).
func base64URL(_ bytes: some Sequence<UInt8>) -> String {
  String(
    Data(bytes).base64EncodedString().compactMap { character -> Character? in
      switch character {
      case "+": "-"
      case "/": "_"
      case "=": nil
      default: character
      }
    })
}

/// - Returns: nil if a character is not of the URL-safe alphabet, or the length is impossible. Padding is
///   accepted, because some browsers' libraries write it.
func base64URLDecoded(_ text: String) -> Data? {
  var base64 = ""
  for character in text {
    switch character {
    case "-": base64.append("+")
    case "_": base64.append("/")
    case "=": continue
    case "+", "/": return nil
    default: base64.append(character)
    }
  }
  return Data(
    base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
}
