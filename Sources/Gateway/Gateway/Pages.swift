import HTTPTypes
import Hummingbird
import NIOCore

/// A static file of the web pages.
///
/// Public, because it holds no personal data. The pages get their data from the API, with the token
/// of the person who uses them.
package struct PageFile: Sendable {
  let contentType: String
  package let text: String
  private let contentSecurityPolicy: String

  /// - Parameters:
  ///   - name: its extension determines the content type.
  ///   - contentSecurityPolicy: nil for the policy of the gateway's pages.
  package init(_ name: String, _ bytes: [UInt8], contentSecurityPolicy: String? = nil) {
    self.contentSecurityPolicy = contentSecurityPolicy ?? Pages.contentSecurityPolicy
    contentType =
      switch name.split(separator: ".").last {
      case "js": "text/javascript; charset=utf-8"
      case "css": "text/css; charset=utf-8"
      case "svg": "image/svg+xml"
      default: "text/html; charset=utf-8"
      }
    text = String(decoding: bytes, as: UTF8.self)
  }

  var headers: HTTPFields {
    [
      .contentType: contentType, .cacheControl: "no-cache",
      .contentSecurityPolicy: contentSecurityPolicy, .xContentTypeOptions: "nosniff",
      .referrerPolicy: "no-referrer",
    ]
  }
}

/// Returns a file of the gateway's pages, for other servers' pages that share it; nil if there is
/// none of this name.
package func gatewayPageFile(_ name: String) -> PageFile? { Pages.files[name] }

/// The web pages: modules and a style sheet at `/pages/NAME`, and index.html at the address of each
/// page.
enum Pages {
  /// Scripts, styles and requests only from the gateway's own origin, no markup from strings, no
  /// embedding in frames. Images may come from any https origin, because people's pictures do.
  static let contentSecurityPolicy = """
    default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'
    """

  /// The paths of the pages, as routed by main.js; "/" is the first page.
  static let addresses = [
    "/following", "/search", "/alarms", "/alarms/{alarm}/people", "/messages", "/new-message",
    "/messages/{peer}", "/post/{post}", "/post/{post}/likes", "/u/{user}", "/u/{user}/followers",
    "/u/{user}/following", "/edit-profile", "/reminders", "/settings",
  ].map { PathTemplate($0) }

  /// The file at a path; nil if no page has it.
  static func file(_ path: [String]) -> PageFile? {
    if path.count == 2, path[0] == "pages" { return files[path[1]] }
    let isPage = path == [""] || addresses.contains { $0.match(path) != nil }
    return isPage ? files["index.html"] : nil
  }

  /// The answer to a browser that looks for a page where there is none: the page that says so.
  ///
  /// - Returns: nil for other clients, for other methods, and for addresses of the API and of files.
  static func absence(of path: [String], to request: Request) -> Response? {
    guard request.method == .get || request.method == .head, path[0] != "v1", path[0] != "pages",
      request.headers[.accept]?.contains("text/html") == true, let page = files["index.html"]
    else { return nil }
    var headers = page.headers
    headers[.cacheControl] = "no-store"
    return Response(
      status: .notFound, headers: headers, body: .init(byteBuffer: ByteBuffer(string: page.text)))
  }

  /// The files by name. A test compares the names with the folder's contents.
  static let files: [String: PageFile] = Dictionary(
    uniqueKeysWithValues: embedded.map { ($0.name, PageFile($0.name, $0.bytes)) })

  private static let embedded: [(name: String, bytes: [UInt8])] = [
    ("alarms.js", PackageResources.alarms_js),
    ("api.js", PackageResources.api_js),
    ("card.js", PackageResources.card_js),
    ("clock.js", PackageResources.clock_js),
    ("dom.js", PackageResources.dom_js),
    ("events.js", PackageResources.events_js),
    ("forms.js", PackageResources.forms_js),
    ("home.js", PackageResources.home_js),
    ("icon-new.svg", PackageResources.icon_new_svg),
    ("icon.svg", PackageResources.icon_svg),
    ("icons.js", PackageResources.icons_js),
    ("image.js", PackageResources.image_js),
    ("index.html", PackageResources.index_html),
    ("list.js", PackageResources.list_js),
    ("live.js", PackageResources.live_js),
    ("locale.js", PackageResources.locale_js),
    ("main.js", PackageResources.main_js),
    ("menu.js", PackageResources.menu_js),
    ("messages.js", PackageResources.messages_js),
    ("names.js", PackageResources.names_js),
    ("notice.js", PackageResources.notice_js),
    ("opening.js", PackageResources.opening_js),
    ("optimistic.js", PackageResources.optimistic_js),
    ("outbox.js", PackageResources.outbox_js),
    ("pending.js", PackageResources.pending_js),
    ("people.js", PackageResources.people_js),
    ("positions.js", PackageResources.positions_js),
    ("post.js", PackageResources.post_js),
    ("presence.js", PackageResources.presence_js),
    ("problem.js", PackageResources.problem_js),
    ("profile.js", PackageResources.profile_js),
    ("refresh.js", PackageResources.refresh_js),
    ("reminders.js", PackageResources.reminders_js),
    ("repeat.js", PackageResources.repeat_js),
    ("router.js", PackageResources.router_js),
    ("routes.js", PackageResources.routes_js),
    ("rows.js", PackageResources.rows_js),
    ("search.js", PackageResources.search_js),
    ("sentence.js", PackageResources.sentence_js),
    ("session.js", PackageResources.session_js),
    ("settings.js", PackageResources.settings_js),
    ("shell.js", PackageResources.shell_js),
    ("signin.js", PackageResources.signin_js),
    ("single.js", PackageResources.single_js),
    ("style.css", PackageResources.style_css),
    ("texts-problems.js", PackageResources.texts_problems_js),
    ("texts.js", PackageResources.texts_js),
    ("time.js", PackageResources.time_js),
    ("typing.js", PackageResources.typing_js),
    ("writing.js", PackageResources.writing_js),
  ]
}
