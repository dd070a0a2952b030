public import Devices
public import Events

extension DeviceToken {
  /// The scope of the device, the unit of rate limiting and circuit breaking: the app, the app and
  /// the origin of a browser's push service, or a webhook's origin. Not a secret.
  ///
  /// Web Push includes the app, because a push service that does not accept one app's key may
  /// accept another's.
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

  /// What the token addresses, in canonical form: white space in a subscription and the secrets of
  /// a webhook make no difference. As secret as the token.
  fileprivate func address(at provider: PushProvider) -> String {
    switch provider {
    case .apns: revealed.lowercased()
    case .fcm: revealed
    case .webPush: WebPush.Subscription(self)?.endpoint.url ?? revealed
    case .webhook: Webhook.Destination(self)?.endpoint.url ?? revealed
    }
  }
}

extension TokenKeys {
  /// 32 bytes that are equal for tokens of one provider and app that address the same device,
  /// however they are written, and that reveal nothing about them without the key.
  public func fingerprint(of token: DeviceToken, provider: PushProvider, app: String) -> [UInt8] {
    fingerprint(ofAddress: token.address(at: provider), provider: provider, app: app)
  }
}
