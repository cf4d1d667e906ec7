import { parse } from 'yaml'
import { isMimeArchive } from './user-data-archive.ts'

/** A part of user data, as cloud-init sees it. */
export interface UserDataPart {
  /** MIME type, such as text/cloud-config. */
  readonly type: string
  readonly text: string
}

/** By what a text begins with, in small letters. The longest first. */
const TYPES: readonly (readonly [beginning: string, type: string])[] = [
  ['#cloud-config-archive', 'text/cloud-config-archive'],
  ['#cloud-config-jsonp', 'text/cloud-config-jsonp'],
  ['## template: jinja', 'text/jinja2'],
  ['#cloud-boothook', 'text/cloud-boothook'],
  ['#include-once', 'text/x-include-once-url'],
  ['#cloud-config', 'text/cloud-config'],
  ['#part-handler', 'text/part-handler'],
  ['#include', 'text/x-include-url'],
  ['#!', 'text/x-shellscript'],
]
/** Types that say nothing about the content: cloud-init looks at its first line. */
const UNTYPED: ReadonlySet<string> = new Set(['text/plain', 'text/x-not-multipart', 'text/x-shellscript'])
/** An archive may be in an archive. */
const DEPTH_MAX = 4
/** More than anybody needs. The rest is not looked at. */
const PARTS_MAX = 64
/** A longer list is not looked into: the parser takes its time for each character. */
const ARCHIVE_MAX = 65_536

/** Returns the parts of user data in their order, also those of archives in it. Never throws: what cannot be read is left out. */
export function partsOf(userData: string): UserDataPart[] {
  const parts = isMimeArchive(userData) ? entitiesIn(userData, 0) : [{ type: 'text/plain', text: userData }]
  return parts.map(typed).flatMap(exploded).slice(0, PARTS_MAX)
}

function typed({ type, text }: UserDataPart): UserDataPart {
  return { type: UNTYPED.has(type) ? (typeOf(text) ?? type) : type, text }
}

function typeOf(text: string): string | undefined {
  const head = text.slice(0, 4096).trimStart().toLowerCase()
  return TYPES.find(([beginning]) => head.startsWith(beginning))?.[1]
}

function exploded(part: UserDataPart): UserDataPart[] {
  if (part.type !== 'text/cloud-config-archive' || part.text.length > ARCHIVE_MAX) return [part]
  const list = yamlOf(part.text)
  if (!Array.isArray(list)) return [part]
  return list.slice(0, PARTS_MAX).flatMap((item: unknown): UserDataPart[] => {
    const { content, type } = (typeof item === 'string' ? { content: item } : (item ?? {})) as Record<string, unknown>
    if (typeof content !== 'string') return []
    return [{ type: typeof type === 'string' ? type : (typeOf(content) ?? 'text/cloud-config'), text: content }]
  })
}

function yamlOf(text: string): unknown {
  try {
    return parse(text, { version: '1.1', uniqueKeys: false, logLevel: 'silent' })
  } catch {
    return undefined
  }
}

function entitiesIn(entity: string, depth: number): UserDataPart[] {
  const { headers, body } = opened(entity)
  const [type = '', ...parameters] = (headers.get('content-type') ?? 'text/plain').split(';')
  const name = type.trim().toLowerCase()
  if (!name.startsWith('multipart/'))
    return [{ type: name, text: decoded(body, headers.get('content-transfer-encoding') ?? '') }]
  const boundary = /^\s*boundary\s*=\s*"?([^"]*)"?\s*$/i
  const found = parameters.map((one) => boundary.exec(one)?.[1]).find((one) => one !== undefined)
  if (found === undefined || depth >= DEPTH_MAX) return []
  return sectionsOf(body, found).flatMap((section) => entitiesIn(section, depth + 1))
}

/** Without headers, it begins with the empty line that ends them. */
function opened(entity: string): { readonly headers: ReadonlyMap<string, string>; readonly body: string } {
  const end = /^\r?\n|\r?\n\r?\n/.exec(entity)
  const at = end?.index ?? entity.length
  return { headers: headersIn(entity.slice(0, at)), body: entity.slice(at + (end?.[0].length ?? 0)) }
}

function headersIn(head: string): ReadonlyMap<string, string> {
  const lines = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
}

function sectionsOf(body: string, boundary: string): string[] {
  const sections: string[][] = []
  for (const line of body.split(/\r?\n/)) {
    const mark = line.trimEnd()
    if (mark === `--${boundary}--`) break
    if (mark === `--${boundary}`) sections.push([])
    else sections.at(-1)?.push(line)
  }
  return sections.slice(0, PARTS_MAX).map((lines) => lines.join('\n'))
}

function decoded(body: string, encoding: string): string {
  const how = encoding.toLowerCase()
  if (how === 'quoted-printable') return textOf(unquoted(body))
  if (how !== 'base64') return body
  try {
    return textOf(atob(body.replaceAll(/[^A-Za-z0-9+/=]/g, '')))
  } catch {
    return ''
  }
}

function unquoted(body: string): string {
  return body
    .replaceAll(/=[ \t]*\r?\n/g, '')
    .replaceAll(/=([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** @param binary a character for each byte. Others come from a text that is not encoded as it says. */
function textOf(binary: string): string {
  return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
}
