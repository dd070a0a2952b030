import Hummingbird
import Lanes

extension Metrics {
  private static let kinds = ["screen", "action", "stream", "page"]

  /// Initializes the gateway's series to 0.
  func beginRequests() {
    set(.streams, to: 0)
    increment(.streamEvents, by: 0)
    for kind in Self.kinds {
      begin(.requestDuration, [kind])
      for status in ["200", "503"] { increment(.requests, [kind, status], by: 0) }
    }
  }

  /// Counts a response. The kind is derived from the path alone, so that clients cannot create
  /// series.
  func count(_ request: Request, _ response: Response, after duration: Duration) {
    let path = request.uri.path
    let kind =
      if path == "/v1/stream" {
        "stream"
      } else if !path.hasPrefix("/v1/") {
        "page"
      } else if request.method == .get || request.method == .head {
        "screen"
      } else {
        "action"
      }
    increment(.requests, [kind, "\(response.status.code)"])
    observe(.requestDuration, [kind], seconds: duration / .seconds(1))
  }
}
