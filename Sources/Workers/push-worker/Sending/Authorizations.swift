import Events
import Providers

/// The tokens that authorize requests: APNs provider tokens, FCM access tokens and VAPID
/// authorizations. Shared by the whole process, and renewed before they expire.
///
/// Concurrent callers never sign the same token twice: this is an actor, and signing does not
/// suspend.
actor Authorizations {
  private struct Origin: Hashable {
    var app: String
    var origin: String
  }

  private struct Access {
    var token: FCM.AccessToken
    var asked: EventTime
  }

  /// Above this many push services, all VAPID authorizations are dropped and signed anew.
  private static let originsMax = 1000
  /// How long no access token is requested after a request for one has failed, in microseconds.
  private static let pause: Int64 = 10_000_000

  private let apps: PushApps
  private let clients: Clients
  private var apns: [String: APNs.ProviderToken] = [:]
  private var refused: Set<String> = []
  private var fcm: [String: Access] = [:]
  private var requests: [String: Task<Void, Never>] = [:]
  /// When an app's last request for an access token failed.
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

  /// The access token of an app; nil if there is none. If it cannot be renewed, the old one is used
  /// until it expires.
  func fcm(_ app: String, _ credentials: FCM.Credentials, now: EventTime) async -> FCM.AccessToken?
  {
    if let access = fcm[app], !access.token.isDue(now: now) { return access.token }
    // Not by a failure of the future, as after the clock was set back. Requests that were begun before it are paused.
    let isPaused =
      failures[app].map {
        -6 * Self.pause..<Self.pause ~= now.microseconds - $0.microseconds
      } ?? false
    if !isPaused {
      // All callers wait for the same request.
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

  /// Notes that the provider did not accept the token of a request.
  ///
  /// - Parameter sent: when the request was begun. If that is before the token was renewed, the new
  ///   token is not affected.
  func refuse(_ app: String, isFCM: Bool, sent: EventTime) {
    if !isFCM {
      if let token = apns[app], token.isIssued(by: sent) { refused.insert(app) }
    } else if let access = fcm[app], access.asked <= sent {
      fcm[app] = nil
    }
  }
}
