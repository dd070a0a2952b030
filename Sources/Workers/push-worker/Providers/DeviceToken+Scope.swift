public import Devices
public import Events

extension DeviceToken {
  /// What is rated and broken together with the device: the app, or the origin that a browser or a webhook
  /// has chosen. No secret.
  ///
  /// - Returns: nil if the token is not one of the provider.
  public func scope(at provider: PushProvider, app: String) -> String? {
    switch provider {
    case .apns: APNs.isToken(self) ? app : nil
    case .fcm: app
    case .webPush: WebPush.Subscription(self)?.endpoint.origin
    case .webhook: Webhook.Destination(self)?.endpoint.origin
    }
  }
}
