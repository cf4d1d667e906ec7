import { ANNOTATIONS } from '@open-terrain/constructs'
import { ADOPTION_POLICY, ADOPTION_RULE } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { ObjectKey } from '../../operator/kube/kube-object.ts'
import {
  ADMISSION_POLICY,
  ADMISSION_POLICY_BINDING,
  CONFIG_MAP,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import { type DataVolume, IMAGE } from '../harness/kinds.ts'
import { MINUTE, SECOND } from '../prepared/runtime/times.ts'
import { isOperator } from './chronicle.ts'
import { FARM, SimulatedOperator, TEMPLATE } from './simulated-operator.ts'

const KEY: Required<ObjectKey> = { namespace: FARM, name: 'kali' }
/** Stands for the object of the older operator: an in-memory cluster does not serve its kind. */
const OLDER = 'older'
const ANNOTATED = { annotations: { [ANNOTATIONS.adopt]: 'datavolume/kali' } }

let world: SimulatedOperator
let wrongs: string[] = []

/** What must hold after every commit: no download for an adopted revision, nothing written to what is adopted, and never two owners. */
function watch(): void {
  wrongs = []
  world.simulated.cluster.onCommit((commit) => {
    const { resource, actor, object } = commit
    if (resource.kind === 'DataVolume' && isOperator(actor) && commit.type === 'ADDED' && isAdopting())
      wrongs.push(`the operator downloads ${object.metadata.name}`)
    if (isAdopted(commit) && isOperator(actor))
      wrongs.push(`the operator writes to ${object.kind} ${object.metadata.name}`)
    const owners = object.metadata.ownerReferences?.filter((owner) => owner.controller === true) ?? []
    if (owners.length > 1) wrongs.push(`${object.kind} ${object.metadata.name} has two controllers`)
    const { adoption } = world.image('kali')?.status ?? {}
    const volume = world.find<DataVolume>(DATA_VOLUME, FARM, 'kali')
    if (adoption?.uid !== undefined && volume?.metadata.ownerReferences?.length)
      wrongs.push('an image has adopted what somebody else owns')
  })
}

function isAdopted({ resource, object }: Commit): boolean {
  const isKind = [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM].some(({ kind }) => kind === resource.kind)
  return isKind && object.metadata.namespace === FARM && object.metadata.name === 'kali'
}

/** Whether the image of the schedule has the annotation, and still the revision that it stands for. */
function isAdopting(): boolean {
  const { metadata, status } = world.image('kali') ?? {}
  if (metadata?.annotations?.[ANNOTATIONS.adopt] === undefined) return false
  // There is no record before a verdict.
  const { adoption, revision } = status ?? {}
  const isOfIt = adoption === undefined || adoption.revision === revision
  return metadata.annotations[ANNOTATIONS.syncRequestedAt] === undefined && isOfIt
}

const put = (type: typeof ADMISSION_POLICY, spec: object) =>
  world.simulated.create(type, { name: ADOPTION_RULE }, { spec })

/** A world in which CDI has filled a DataVolume that the older operator, or nobody, owns. */
async function start(isOwned = false): Promise<void> {
  world = await SimulatedOperator.start()
  put(ADMISSION_POLICY, ADOPTION_POLICY)
  put(ADMISSION_POLICY_BINDING, { policyName: ADOPTION_RULE, validationActions: ['Deny'] })
  const { url, diskSize, storageClass } = TEMPLATE
  const storage = { resources: { requests: { storage: diskSize } }, storageClassName: storageClass }
  const older = world.simulated.create(CONFIG_MAP, { namespace: FARM, name: OLDER })
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: OLDER, uid: older.metadata.uid ?? '', controller: true }
  const metadata = { ...KEY, ownerReferences: isOwned ? [owner] : [] }
  world.simulated.create(DATA_VOLUME, metadata, { spec: { source: { http: { url } }, storage } })
  await world.until('the DataVolume', () => {
    return world.find<DataVolume>(DATA_VOLUME, FARM, 'kali')?.status?.phase === 'Succeeded'
  })
  // An image that is about as old as the rule may have been annotated before it.
  await world.pass(MINUTE)
  watch()
}

const adopt = (spec: object = {}) =>
  world.simulated.create(IMAGE, { ...KEY, ...ANNOTATED }, { spec: { ...TEMPLATE, ...spec } })
const untilSynced = () => world.until('the image', () => world.image('kali')?.status?.phase === 'Succeeded')
const untilGone = () => world.until('its end', () => world.image('kali') === undefined)
const release = () => world.patch(DATA_VOLUME, KEY, { metadata: { ownerReferences: [] } })

function whatIsThere() {
  const { phase, adoption, artifact, attempts } = world.image('kali')?.status ?? {}
  const volume = world.find(DATA_VOLUME, FARM, 'kali')
  const claim = world.find(PERSISTENT_VOLUME_CLAIM, FARM, 'kali')
  const snapshots = world.simulated.cluster.admin.list(VOLUME_SNAPSHOT, { namespace: FARM }).items.length
  const uids = [volume, claim].map((one) => one?.metadata.deletionTimestamp ?? one?.kind)
  return [phase, adoption?.object, artifact?.kind, artifact?.name, attempts, uids, snapshots, wrongs]
}

/** From a DataVolume that the older operator owns to the end of the image that adopted it. Returns what was there at some moments. */
async function life(crashAt: number | undefined, hasSnapshot: boolean) {
  await start(true)
  world.crashAtWrite(crashAt, SECOND)
  adopt(hasSnapshot ? {} : { snapshotClass: undefined })
  if (!hasSnapshot) world.patch(IMAGE, KEY, { spec: { snapshotClass: null } })
  await world.until('its refusal', () => world.image('kali')?.status?.reason === 'AdoptionOwned')
  release()
  await untilSynced()
  const adopted = whatIsThere()
  // Nothing is collected with its earlier owner.
  world.delete(CONFIG_MAP, FARM, OLDER)
  await world.pass(20 * MINUTE)
  const later = whatIsThere()
  world.delete(IMAGE, FARM, 'kali')
  await untilGone()
  await world.pass(MINUTE)
  const writes = world.written.length
  return { writes, end: [adopted, later, whatIsThere()] }
}

describe('a crash at any write of an image that adopts', () => {
  it.each([true, false])('ends as without one (snapshot: %s)', async (hasSnapshot) => {
    const { writes, end } = await life(undefined, hasSnapshot)
    expect(wrongs).toEqual([])
    expect(end[2]).toMatchObject([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      ['DataVolume', 'PersistentVolumeClaim'],
      0,
      [],
    ])
    expect(writes).toBeGreaterThan(6)
    for (let crashAt = 0; crashAt < writes; crashAt += 1) {
      const crashed = await life(crashAt, hasSnapshot)
      expect(crashed.end, `crash at write ${crashAt}`).toEqual(end)
    }
  })
})

it('with Delete, what was adopted goes with the image, and after its next revision', async () => {
  await start()
  adopt({ reclaimPolicy: 'Delete' })
  await untilSynced()
  world.patch(IMAGE, KEY, { metadata: { annotations: { [ANNOTATIONS.syncRequestedAt]: 'now' } } })
  await world.until('the next artifact', () => world.image('kali')?.status?.attempts?.length === 1)
  await world.pass(20 * MINUTE)
  expect(world.find(DATA_VOLUME, FARM, 'kali')).toBeUndefined()
  world.delete(IMAGE, FARM, 'kali')
  await untilGone()
})
