// How an iOS or macOS client displays an alarm: it colours the spans. Positions count UTF-16 code
// units, like NSRange, so no searching or converting is needed.

import Foundation

#if canImport(UIKit)
  import UIKit
#elseif canImport(AppKit)
  import AppKit
#endif

struct AlarmSpan: Decodable {
  var start: Int
  var length: Int
  var kind: String
  var actor: String?
}

#if canImport(UIKit) || canImport(AppKit)
  func attributedAlarm(text: String, spans: [AlarmSpan], size: CGFloat) -> NSAttributedString {
    #if canImport(UIKit)
      let (bold, accent) = (UIFont.boldSystemFont(ofSize: size), UIColor.tintColor)
    #else
      let (bold, accent) = (NSFont.boldSystemFont(ofSize: size), NSColor.controlAccentColor)
    #endif
    let alarm = NSMutableAttributedString(string: text)
    for span in spans where span.kind == "actor" {
      alarm.addAttributes(
        [.font: bold, .foregroundColor: accent],
        range: NSRange(location: span.start, length: span.length))
    }
    return alarm
  }
#endif
