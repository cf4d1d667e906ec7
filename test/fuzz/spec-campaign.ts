import fc from 'fast-check'
import type { Connection } from '../../operator/kube/connection.ts'
import { dataSyncManifest } from './data-sync-manifests.ts'
import { machineManifest } from './machine-manifests.ts'
import { differenceOf, isFloatSpelling } from './spec-differences.ts'
import { judgeBySchema, judgeByServer } from './spec-judges.ts'
import { imageManifest, MANIFEST_CLASSES, type Manifest, type ManifestClass } from './spec-manifests.ts'
import { workspaceManifest } from './workspace-manifests.ts'
import { workspaceSnapshotManifest } from './workspace-snapshot-manifests.ts'

/** Number of manifests that are made from one seed. A replay makes at most this many again. */
const CHUNK = 1_000
const PARALLEL = 24
/** Connections to the API server. Each is kept open. */
export const SPEC_CONNECTIONS = PARALLEL
/** More findings usually have the same cause, and shrinking takes time. */
const FINDINGS_MAX = 5

/** A kind with few fields needs few. */
const manifest = fc.oneof(
  { arbitrary: imageManifest, weight: 4 },
  { arbitrary: machineManifest, weight: 4 },
  { arbitrary: dataSyncManifest, weight: 4 },
  { arbitrary: workspaceManifest, weight: 4 },
  { arbitrary: workspaceSnapshotManifest, weight: 1 },
)

export interface SpecCampaign {
  readonly connection: Connection
  readonly seed: number
  /** Number of manifests. */
  readonly count: number
  /** Default: of all kinds. `npm run fuzz` makes only those again. */
  readonly manifests?: fc.Arbitrary<Manifest>
  readonly onProgress?: (judged: number) => void
}

export interface SpecFinding {
  /** Arguments that make exactly this manifest again. */
  readonly replay: string
  readonly difference: string
  /** The smallest manifest that shows the difference. */
  readonly body: string
}

export interface SpecTally {
  judged: number
  /** Allowed differences, see `isFloatSpelling`. */
  floatSpellings: number
  readonly byClass: Record<ManifestClass, { accepted: number; refused: number }>
  /** Refusals by the message of a rule or check, if it was the only one. */
  readonly soleReasons: Map<string, number>
  readonly findings: SpecFinding[]
}

/** Judges many manifests by both judges, and shrinks those with different verdicts. */
export async function compareVerdicts(campaign: SpecCampaign): Promise<SpecTally> {
  const { connection, seed, count, manifests: made = manifest, onProgress } = campaign
  const tally = emptyTally()
  for (let from = 0; from < count && tally.findings.length < FINDINGS_MAX; from += CHUNK) {
    const chunkSeed = seed + from / CHUNK
    const manifests = fc.sample(made, { seed: chunkSeed, numRuns: Math.min(CHUNK, count - from) })
    const different = await judgeAll(connection, manifests, tally)
    for (const at of different.slice(0, FINDINGS_MAX - tally.findings.length)) {
      tally.findings.push(
        (await replaySpec(connection, chunkSeed, String(at), made)) ?? unsteady(chunkSeed, at, manifests[at]),
      )
    }
    onProgress?.(tally.judged)
  }
  return tally
}

/** Judges manifests that are written down by both judges. Returns those about which they differ, and why others were refused. */
export async function compareFixtures(
  connection: Connection,
  manifests: readonly Manifest[],
): Promise<Pick<SpecTally, 'soleReasons'> & { readonly different: readonly string[] }> {
  const tally = emptyTally()
  const different = await judgeAll(connection, manifests, tally)
  return { soleReasons: tally.soleReasons, different: different.map((at) => manifests[at]?.body ?? '') }
}

/** Makes one manifest again, and shrinks it. Undefined if both judges agree about it. */
export async function replaySpec(
  connection: Connection,
  seed: number,
  path: string,
  manifests = manifest,
): Promise<SpecFinding | undefined> {
  const property = fc.asyncProperty(manifests, async (one) => {
    const difference = await judge(connection, one)
    if (difference !== undefined) throw new Error(difference)
  })
  const run = await fc.check(property, { seed, path, numRuns: 1 })
  const [found] = run.counterexample ?? []
  if (found === undefined) return undefined
  return {
    replay: `--seed ${seed} --path ${run.counterexamplePath}`,
    difference: String(run.errorInstance),
    body: found.body,
  }
}

/** A judge that gives two different verdicts on the same manifest is a finding too. */
function unsteady(seed: number, at: number, one: Manifest | undefined): SpecFinding {
  const difference = 'the two judges differed about it once, and not when they were asked again'
  return { replay: `--seed ${seed} --path ${at}`, difference, body: one?.body ?? '' }
}

function emptyTally(): SpecTally {
  const byClass = Object.fromEntries(MANIFEST_CLASSES.map((made) => [made, { accepted: 0, refused: 0 }]))
  return {
    judged: 0,
    floatSpellings: 0,
    byClass: byClass as SpecTally['byClass'],
    soleReasons: new Map(),
    findings: [],
  }
}

/** Indexes of the manifests with different verdicts. */
async function judgeAll(connection: Connection, manifests: readonly Manifest[], tally: SpecTally): Promise<number[]> {
  const different: number[] = []
  const rest = manifests.entries()
  const worker = async () => {
    for (const [at, one] of rest) if ((await judge(connection, one, tally)) !== undefined) different.push(at)
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  return different.toSorted((a, b) => a - b)
}

async function judge(connection: Connection, one: Manifest, tally?: SpecTally): Promise<string | undefined> {
  const server = await judgeByServer(connection, one)
  if (tally !== undefined) {
    tally.judged += 1
    if (isFloatSpelling(one, server)) tally.floatSpellings += 1
    tally.byClass[one.made][server.isAccepted ? 'accepted' : 'refused'] += 1
    const [problem, ...others] = server.isAccepted ? [] : server.problems
    if (problem !== undefined && others.length === 0) count(tally.soleReasons, reasonOf(problem.message))
  }
  return differenceOf(one, server, judgeBySchema(one))
}

/** Removes what differs in each message: the refused value, the names of unknown fields. */
function reasonOf(message: string): string {
  return message
    .replace(/^Invalid value: (("[\s\S]*"|[-+.0-9e]+): )?/, '')
    .replace(/(strict decoding error: unknown field) .*/s, '$1')
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
