import type { ImageRule } from './rules.ts'

/** A path that misbehaves on any host, for people who try things out. */
export interface ScriptedPath {
  readonly rule: ImageRule & { readonly path: string }
  readonly effect: string
}

const MIB = 1024 * 1024

/** Paths that `npm run sandbox` serves besides images that download normally: `https://any.host/<path>/name.qcow2`. */
export const SCRIPTED_PATHS: readonly ScriptedPath[] = [
  { rule: { path: '/404/', fault: { status: 404 } }, effect: 'does not exist: NotFound, no retry' },
  { rule: { path: '/403/', fault: { status: 403 } }, effect: 'is refused: AccessDenied, no retry' },
  { rule: { path: '/503/', fault: { status: 503 } }, effect: 'fails each time, until no retry is left' },
  {
    rule: { path: '/fails-twice/', fault: { status: 503 }, times: 2, perImage: true },
    effect: 'fails twice, then downloads',
  },
  { rule: { path: '/breaks-off/', fault: { cutAfterBytes: MIB } }, effect: 'breaks off after 1 MiB' },
  { rule: { path: '/stalls/', fault: { stallAfterBytes: MIB } }, effect: 'sends nothing more after 1 MiB' },
  { rule: { path: '/slow/', sizeBytes: 60 * MIB, bytesPerSecond: MIB }, effect: 'takes a minute' },
]
