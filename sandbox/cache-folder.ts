import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where what was built or downloaded once is kept: `~/.cache/open-terrain`, or the same in `XDG_CACHE_HOME`. */
export function cacheFolderOf(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'open-terrain')
}
