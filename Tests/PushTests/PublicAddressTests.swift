import Testing

@testable import Providers

@Suite struct PublicAddressTests {
  @Test(
    "addresses of networks of one's own are not public",
    arguments: [
      "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1",
      "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1",
      "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
      "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1",
      "64:ff9b::8.8.8.8", "64:ff9b:1::1", "100::1", "2001::1", "2001:1ff::1", "2001:db8::1",
      "2002:7f00:1::1", "3fff::1", "3fff:fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1",
      "ff02::1",
    ])
  func notPublic(text: String) throws {
    #expect(PublicAddress(try #require(IPAddress(text))) == nil)
  }

  @Test(
    "all others are",
    arguments: [
      "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "169.253.0.1",
      "172.15.255.255", "172.32.0.0", "192.167.0.1", "198.17.0.1", "198.20.0.1",
      "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450::1",
      "3ffe::1",
    ])
  func isPublic(text: String) throws {
    #expect(PublicAddress(try #require(IPAddress(text))) != nil)
  }

  @Test("a name leads nowhere if one of its addresses is not public")
  func names() throws {
    let good = try #require(IPAddress("1.1.1.1"))
    let loopback = try #require(IPAddress("127.0.0.1"))
    #expect(PublicAddress.first(of: []) == nil)
    #expect(PublicAddress.first(of: [good])?.address == good)
    #expect(PublicAddress.first(of: [good, loopback]) == nil)
    #expect(PublicAddress.first(of: [loopback], allowingLoopback: true)?.address == loopback)
    #expect(
      PublicAddress.first(of: [try #require(IPAddress("10.0.0.1"))], allowingLoopback: true) == nil)
  }

  @Test("only the usual forms are addresses")
  func forms() {
    for text in ["", "1.2.3", "0x7f.1", "2130706433", "1.2.3.4.5", "fe80::1%eth0", "example.com"] {
      #expect(IPAddress(text) == nil, "\(text)")
    }
    #expect(IPAddress("::1")?.description == "0:0:0:0:0:0:0:1")
  }
}
