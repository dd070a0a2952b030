import PackagePlugin

/// Compiles the files of a target that are no sources, all of them texts, into it: `alarms.js` becomes
/// `PackageResources.alarms_js`, as with SwiftPM's `.embedInCode`. That writes arrays of numbers, for which the
/// compiler takes a hundred times as long as for text.
@main struct EmbedTexts: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let module = target.sourceModule else { return [] }
    let texts = module.sourceFiles.filter { $0.type == .unknown }.map(\.url)
    let output = context.pluginWorkDirectoryURL.appending(path: "PackageResources.swift")
    let paths = ([output] + texts).map { $0.path(percentEncoded: false) }
    return [
      .buildCommand(
        displayName: "Embedding the texts of \(target.name)",
        executable: try context.tool(named: "embed-texts").url,
        arguments: paths, inputFiles: texts, outputFiles: [output])
    ]
  }
}
