public import Devices
public import Events

extension DeviceToken {
  /// What is rated and broken together with the device: the app, the app and the origin of a browser's push
  /// service, or a webhook's origin. No secret.
  ///
  /// A push service that does not accept one app's key says nothing about another app.
  ///
  /// - Returns: nil if the token is not one of the provider.
  public func scope(at provider: PushProvider, app: String) -> String? {
    switch provider {
    case .apns: APNs.isToken(self) ? app : nil
    case .fcm: app
    case .webPush: WebPush.Subscription(self).map { "\(app) \($0.endpoint.origin)" }
    case .webhook: Webhook.Destination(self)?.endpoint.origin
    }
  }
}
