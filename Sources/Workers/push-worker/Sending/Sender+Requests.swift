import Devices
import Events
import Providers
import Pushes

/// Why no request can be made from a claim.
enum Unmade: Error {
  case unsendable(Unsendable)
  case answer(ProviderAnswer)

  /// The configuration has no credentials for the app, which concerns its whole scope.
  static let noCredentials = Unmade.answer(
    .providerBroken(reason: "no-credentials", after: .seconds(60)))
  /// The same for an app name from a browser's registration. It is not a failure of the push
  /// service, so the breaker does not count it.
  static let noWebCredentials = Unmade.answer(
    .retry(reason: "no-credentials", after: .seconds(60)))
}

extension Sender {
  /// - Parameter now: the time of this attempt, from which times to live count: a repetition must
  ///   not outlive the message. Ids and payload are the same in each attempt.
  func request(
    _ claim: Claim, _ token: DeviceToken, now: EventTime
  ) async throws(Unmade) -> ProviderRequest {
    let device = claim.device
    var message = claim.message
    if message.purpose == .alert, let title = apps.title(device) { message.title = title }
    guard now < message.expires else { throw .unsendable(.expired) }
    switch device.provider {
    case .apns:
      guard let credentials = apps.apns[device.app] else { throw .noCredentials }
      do throws(Unsendable) {
        return try APNs.request(
          message, to: device, token: token, credentials: credentials,
          authorization: try await authorizations.apns(device.app, credentials, now: now),
          now: now)
      } catch { throw .unsendable(error) }
    case .fcm:
      guard let credentials = apps.fcm[device.app] else { throw .noCredentials }
      guard let access = await authorizations.fcm(device.app, credentials, now: now) else {
        throw .answer(.providerBroken(reason: "no-access-token", after: .seconds(10)))
      }
      do throws(Unsendable) {
        return try FCM.request(
          message, token: token, credentials: credentials, authorization: access, now: now)
      } catch { throw .unsendable(error) }
    case .webPush:
      guard let credentials = apps.webPush[device.app] else { throw .noWebCredentials }
      guard let subscription = WebPush.Subscription(token) else {
        throw .unsendable(.malformedToken)
      }
      let address = try await address(of: subscription.endpoint)
      do throws(Unsendable) {
        return try WebPush.request(
          message, to: device, subscription: subscription, address: address,
          credentials: credentials,
          authorization: try await authorizations.webPush(
            device.app, credentials, origin: subscription.endpoint.origin, now: now),
          now: now)
      } catch { throw .unsendable(error) }
    case .webhook:
      guard let destination = Webhook.Destination(token) else {
        throw .unsendable(.malformedToken)
      }
      let address = try await address(
        of: destination.endpoint,
        unresolved: Webhook.answerToFailure(attempt: claim.attempt, reason: "no-address"))
      do throws(Unsendable) {
        return try Webhook.request(
          message, to: device, destination: destination, address: address, now: now)
      } catch { throw .unsendable(error) }
    }
  }

  /// - Parameter unresolved: the answer if the name does not resolve, which is retried no later
  ///   than a failure of the server. An address that is not public is a mistake or an attack, and
  ///   is refused.
  private func address(
    of endpoint: HTTPSEndpoint,
    unresolved: ProviderAnswer = .retry(reason: "no-address", after: .zero)
  ) async throws(Unmade) -> PublicAddress {
    do throws(Clients.NoAddress) {
      return try await clients.address(of: endpoint.host)
    } catch {
      switch error {
      case .unresolved: throw .answer(unresolved)
      case .notPublic: throw .answer(.refused(reason: "private-address"))
      }
    }
  }
}
