import Events
import Providers

/// What authorizes requests at the moment: one for all of the process, renewed in time.
///
/// What is signed here is signed once, because this is an actor and signing does not suspend.
actor Authorizations {
  private struct Origin: Hashable {
    var app: String
    var origin: String
  }

  private struct Access {
    var token: FCM.AccessToken
    var asked: EventTime
  }

  /// Those of more push services than this are forgotten and signed anew.
  private static let originsMax = 1000
  /// How long nobody asks for an access token again after nobody got one, in microseconds.
  private static let pause: Int64 = 10_000_000

  private let apps: PushApps
  private let clients: Clients
  private var apns: [String: APNs.ProviderToken] = [:]
  private var refused: Set<String> = []
  private var fcm: [String: Access] = [:]
  private var requests: [String: Task<Void, Never>] = [:]
  /// When an app got no access token.
  private var failures: [String: EventTime] = [:]
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

  /// Nil if none can be had. Without a new one, the old one is used until its end.
  func fcm(_ app: String, _ credentials: FCM.Credentials, now: EventTime) async -> FCM.AccessToken?
  {
    if let access = fcm[app], !access.token.isDue(now: now) { return access.token }
    let isPaused = failures[app].map { now.microseconds - $0.microseconds < Self.pause } ?? false
    if !isPaused {
      // One request, whoever waits for it.
      let request = requests[app] ?? Task { await renew(app, credentials, now: now) }
      requests[app] = request
      await request.value
    }
    return fcm[app].flatMap { $0.token.isOver(now: now) ? nil : $0.token }
  }

  private func renew(_ app: String, _ credentials: FCM.Credentials, now: EventTime) async {
    var token: FCM.AccessToken?
    if let request = try? FCM.accessRequest(credentials, now: now),
      let response = try? await clients.response(to: request, seconds: 20)
    {
      token = FCM.accessToken(response, now: now)
    }
    if let token { fcm[app] = Access(token: token, asked: now) }
    failures[app] = token == nil ? .now : nil
    requests[app] = nil
  }

  /// The provider does not accept what authorized a request.
  ///
  /// - Parameter sent: when the request was begun. One of before the renewal says nothing about what is new.
  func refuse(_ app: String, isFCM: Bool, sent: EventTime) {
    if !isFCM {
      if let token = apns[app], token.isIssued(by: sent) { refused.insert(app) }
    } else if let access = fcm[app], access.asked <= sent {
      fcm[app] = nil
    }
  }
}
