import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const LICENSE = /^(?:licen[cs]e|copying|notice|third.?party|thirdpartynotices?)(?:[-_.][\w.-]*)?$/i
const RULE = '='.repeat(80)

/**
 * Returns the licenses of packages as one text: names, versions, and the files that they ship. Throws if a package names no license.
 * @param paths of their folders, from the root of the repository
 */
export function licensesOf(paths: readonly string[], root: string = ROOT): string {
  const parts = paths.map((path) => {
    const folder = join(root, path)
    const { name, version, license, repository } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    if (typeof license !== 'string') throw new Error(`${path}/package.json names no license: look for it, and decide`)
    const files = readdirSync(folder).filter((file) => LICENSE.test(file))
    const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim())
    const source = typeof repository === 'string' ? repository : (repository?.url ?? '')
    const missing = `It ships no license text. Its manifest says ${license}.${source === '' ? '' : ` Its source: ${source}`}`
    return [RULE, `${name} ${version} (${license})`, RULE, '', ...(texts.length === 0 ? [missing] : texts), ''].join(
      '\n',
    )
  })
  return `The program beside this file contains these packages. Each has its own license.\n\n${parts.join('\n')}`
}
