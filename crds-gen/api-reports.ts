import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'
import { DOORS } from './declarations.ts'

const PACKAGE = join(import.meta.dirname, '../constructs')
const NODE = 'NodeNext'

/**
 * Returns the reports on what the promised doors of the package have, by name of the file: a break is a difference in them.
 * @param declarations folder with the declarations of the package
 */
export function apiReports(declarations: string): ReadonlyMap<string, string> {
  return new Map(Object.entries(DOORS).map(([door, file]) => [`${door}.api.md`, reportOf(declarations, door, file)]))
}

function reportOf(declarations: string, door: string, file: string): string {
  const entry = join(declarations, file)
  const { none: nothing, warning } = { none: ExtractorLogLevel.None, warning: ExtractorLogLevel.Warning }
  const compilerOptions = {
    target: 'ES2024',
    module: NODE,
    moduleResolution: NODE,
    lib: ['ES2024', 'DOM'],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  }
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(PACKAGE, 'package.json'),
    configObject: {
      projectFolder: PACKAGE,
      mainEntryPointFilePath: entry,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: [entry] } },
      apiReport: {
        enabled: true,
        reportFileName: `${door}.api.md`,
        reportFolder: declarations,
        reportTempFolder: join(declarations, 'temp'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: warning } },
        extractorMessageReporting: {
          default: { logLevel: warning, addToApiReportFile: true },
          // Everything in these doors is public.
          'ae-missing-release-tag': { logLevel: nothing },
        },
        // Our comments are for editors.
        tsdocMessageReporting: { default: { logLevel: nothing } },
      },
    },
  })
  // What it would print is in the report.
  Extractor.invoke(config, { localBuild: true, messageCallback: (message) => (message.handled = true) })
  // Where the declarations were compiled is not a part of it.
  return readFileSync(join(declarations, `${door}.api.md`), 'utf8').replaceAll(`${declarations}/`, '')
}
