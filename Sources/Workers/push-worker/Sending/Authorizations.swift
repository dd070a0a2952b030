import Events
import Providers

/// What authorizes requests at the moment: one for all of the process, renewed in time.
actor Authorizations {
  private struct Origin: Hashable {
    var app: String
    var origin: String
  }

  /// Those of more push services than this are forgotten and signed anew.
  private static let originsMax = 1000

  private let apps: PushApps
  private let clients: Clients
  private var apns: [String: APNs.ProviderToken] = [:]
  private var refused: Set<String> = []
  private var fcm: [String: FCM.AccessToken] = [:]
  private var requests: [String: Task<FCM.AccessToken?, Never>] = [:]
  private var webPush: [Origin: WebPush.Authorization] = [:]

  init(apps: PushApps, clients: Clients) { (self.apps, self.clients) = (apps, clients) }

  /// - Throws: `Unsendable` if it cannot be signed.
  func apns(_ app: String, _ credentials: APNs.Credentials, now: EventTime) throws(Unsendable)
    -> APNs.ProviderToken
  {
    if let token = apns[app], !token.isDue(now: now, isRefused: refused.contains(app)) {
      return token
    }
    let token = try APNs.ProviderToken(credentials, now: now)
    apns[app] = token
    refused.remove(app)
    return token
  }

  /// - Throws: `Unsendable` if it cannot be signed.
  func webPush(_ app: String, _ credentials: WebPush.Credentials, origin: String, now: EventTime)
    throws(Unsendable) -> WebPush.Authorization
  {
    let key = Origin(app: app, origin: origin)
    if let authorization = webPush[key], !authorization.isDue(now: now) { return authorization }
    if webPush.count >= Self.originsMax { webPush = [:] }
    let authorization = try WebPush.Authorization(credentials, origin: origin, now: now)
    webPush[key] = authorization
    return authorization
  }

  /// Nil if none can be had.
  func fcm(_ app: String, _ credentials: FCM.Credentials, now: EventTime) async -> FCM.AccessToken?
  {
    if let token = fcm[app], !token.isDue(now: now) { return token }
    // One request, whoever waits for it.
    let request =
      requests[app]
      ?? Task { [clients] in
        guard let request = try? FCM.accessRequest(credentials, now: now),
          let response = try? await clients.response(to: request, seconds: 20)
        else { return nil }
        return FCM.accessToken(response, now: now)
      }
    requests[app] = request
    let token = await request.value
    requests[app] = nil
    fcm[app] = token
    return token
  }

  /// The provider does not accept what authorized a request.
  func refuse(_ app: String, isFCM: Bool) {
    if isFCM { fcm[app] = nil } else { refused.insert(app) }
  }
}
