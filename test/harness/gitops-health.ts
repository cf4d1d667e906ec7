import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'

/** How Argo CD shows a resource. */
export interface Health {
  readonly status: string
  readonly message: string
}

interface Judged extends KubeObject {
  readonly status?: {
    readonly observedGeneration?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const SCRIPT = readFileSync(join(EXAMPLES, 'argocd/health.lua'), 'utf8')

/** The few functions of Lua's C interface that are called here. */
interface Lua {
  readonly lua: { lua_tojsstring(state: object, at: number): string; lua_settop(state: object, at: number): void }
  readonly lauxlib: { luaL_newstate(): object; luaL_dostring(state: object, text: Uint8Array): number }
  readonly lualib: { luaL_openlibs(state: object): void }
  to_luastring(text: string): Uint8Array
}

// It has no types.
const require = createRequire(import.meta.url)
const { lauxlib, lua, lualib, to_luastring } = require('fengari') as Lua

/** Made once: the script reads one object, and keeps nothing. */
const STATE = lauxlib.luaL_newstate()
lualib.luaL_openlibs(STATE)
run(`function judge() ${SCRIPT}\nend`, 0)

/** Returns the last texts that the lines return. */
function run(lines: string, count: number): string[] {
  const failed = lauxlib.luaL_dostring(STATE, to_luastring(lines)) !== 0
  const results = Array.from({ length: failed ? 1 : count }, (_none, at) => lua.lua_tojsstring(STATE, -1 - at))
  lua.lua_settop(STATE, 0)
  if (failed) throw new Error(results[0])
  return results.reverse()
}

/** What Argo CD makes of an object with the health script of the examples. Its own rule for what is being deleted comes before any script. */
export function argoHealth(object: KubeObject): Health {
  if (object.metadata.deletionTimestamp !== undefined) return { status: 'Progressing', message: 'Pending deletion' }
  const judged = run(`obj = ${literal(object)}; local hs = judge(); return hs.status, hs.message`, 2)
  const [status = '', message = ''] = judged
  return { status, message }
}

/** The object as a table of Lua, as Argo CD hands it over. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(literal).join(',')}}`
  if (value === null || value === undefined) return 'nil'
  if (typeof value === 'string')
    return `"${[...Buffer.from(value)].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('')}"`
  if (typeof value !== 'object') return String(value)
  return `{${Object.entries(value)
    .map(([key, one]) => `[${literal(key)}]=${literal(one)}`)
    .join(',')}}`
}

/** What kstatus makes of an object of a kind that it does not know. Flux and others wait by it. Source: the rules in its documentation. */
export function kstatus(object: KubeObject): 'Current' | 'Failed' | 'InProgress' | 'Terminating' {
  const { metadata, status = {} } = object as Judged
  const standOf = (name: string) => status.conditions?.find(({ type }) => type === name)?.status
  if (metadata.deletionTimestamp !== undefined) return 'Terminating'
  if (status.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return 'InProgress'
  if (standOf('Reconciling') === 'True') return 'InProgress'
  if (standOf('Stalled') === 'True') return 'Failed'
  return ['False', 'Unknown'].includes(standOf('Ready') ?? '') ? 'InProgress' : 'Current'
}
