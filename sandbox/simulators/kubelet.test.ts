import { beforeEach, describe, expect, it } from 'vitest'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, SECRET } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'
import type { Pod } from './models.ts'

const URL = 'https://images.example.com/disk.qcow2'
const DISK = { namespace: TEAM, name: 'disk' }
/** Time that a container takes to end. */
const POD_END_MS = 5_000

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start({ podEndMs: POD_END_MS })
})

const pod = (): Pod | undefined => world.pods()[0]
const container = () => pod()?.status?.containerStatuses?.[0]
const observed = () => world.simulators.cdi.observed

function createDisk(source: object = { http: { url: URL } }): void {
  const storage = { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } }
  world.create(DATA_VOLUME, DISK, { spec: { source, storage } })
}

/** Starts a download that stalls for good. The returned function lets later ones go through. */
async function startDownload(): Promise<() => void> {
  const letThrough = world.simulators.cdi.script(DISK, { type: 'stall' })
  createDisk()
  await world.untilPhase('disk', 'ImportInProgress')
  await world.until('the download', () => observed().importing === 1)
  return letThrough
}

/** Returns how long the pod still exists from now on, in virtual milliseconds, and how long its download continues. */
async function lives(uid: string | undefined): Promise<{ readonly podMs: number; readonly downloadMs: number }> {
  const from = world.time.elapsedMs
  let downloadMs: number | undefined
  await world.until('the end of the pod', () => {
    if (observed().importing === 0) downloadMs ??= world.time.elapsedMs - from
    return pod()?.metadata.uid !== uid
  })
  const podMs = world.time.elapsedMs - from
  return { podMs, downloadMs: downloadMs ?? podMs }
}

describe('an importer pod that is deleted', () => {
  it('stops to download at once, ends in its time as Failed, and is replaced under its name by one that begins from the start', async () => {
    const letThrough = await startDownload()
    letThrough()
    const first = pod()
    const ends: unknown[] = []
    world.cluster.onCommit(({ resource, object }) => {
      if (resource === POD && object.metadata.uid === first?.metadata.uid) ends.push((object as Pod).status?.phase)
    })
    world.cluster.admin.delete(POD, { namespace: TEAM, name: first?.metadata.name ?? '' })
    const { podMs, downloadMs } = await lives(first?.metadata.uid)
    expect(podMs).toBeGreaterThanOrEqual(POD_END_MS)
    expect(downloadMs).toBeLessThan(1_000)
    expect(ends.at(-1)).toBe('Failed')
    await world.untilPhase('disk', 'Succeeded')
    expect(observed().image(URL)).toMatchObject({ attempts: 2, downloads: 1 })
    expect(observed().maxImporting).toBe(1)
  })

  it('may go on to download until its end', async () => {
    await startDownload()
    world.simulators.cdi.script(DISK, { type: 'slowEnd', delayMs: 20_000, downloading: true })
    const { name = '', uid } = pod()?.metadata ?? {}
    world.cluster.admin.delete(POD, { namespace: TEAM, name })
    const { podMs, downloadMs } = await lives(uid)
    expect(downloadMs).toBeGreaterThanOrEqual(19_000)
    expect(podMs).toBeGreaterThanOrEqual(20_000)
  })

  it('before its container could start is given an end in the words of the kubelet, and is replaced', async () => {
    world.simulators.cdi.script(DISK, { type: 'imagePull' })
    createDisk()
    await world.until('the pod waits', () => container()?.state.waiting?.reason === 'ImagePullBackOff')
    const first = pod()
    const ends: Pod['status'][] = []
    world.cluster.onCommit(({ resource, object }) => {
      if (resource === POD && object.metadata.uid === first?.metadata.uid) ends.push((object as Pod).status)
    })
    world.cluster.admin.delete(POD, { namespace: TEAM, name: first?.metadata.name ?? '' })
    await world.until('the next pod', () => pod() !== undefined && pod()?.metadata.uid !== first?.metadata.uid)
    expect(ends.at(-1)).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } }],
    })
    expect(ends.at(-1)?.containerStatuses?.[0]?.state.terminated?.startedAt).toBeUndefined()
  })

  it('before its container runs goes at once', async () => {
    world.simulators.cdi.script(DISK, { type: 'unschedulable' })
    createDisk()
    await world.until('the pod', () => pod() !== undefined)
    const { name = '', uid } = pod()?.metadata ?? {}
    world.cluster.admin.delete(POD, { namespace: TEAM, name })
    const { podMs } = await lives(uid)
    expect(podMs).toBeLessThan(1_000)
    expect(observed().image(URL).attempts).toBe(0)
  })
})

describe('the claim of an importer pod', () => {
  it('lets it start only when it is bound', async () => {
    world.simulators.cdi.script(DISK, { type: 'unprovisioned' })
    createDisk()
    await world.pass(60_000)
    expect(container()?.state.running).toBeUndefined()
    expect(observed().image(URL).attempts).toBe(0)
  })

  it('takes the pod along when it goes, and both come again', async () => {
    const letThrough = await startDownload()
    letThrough()
    const before = { pod: pod()?.metadata.uid, claim: primeClaim()?.metadata.uid }
    world.cluster.admin.delete(PERSISTENT_VOLUME_CLAIM, { namespace: TEAM, name: primeClaim()?.metadata.name ?? '' })
    const { podMs, downloadMs } = await lives(before.pod)
    expect(podMs).toBeGreaterThanOrEqual(POD_END_MS)
    expect(downloadMs).toBeLessThan(1_000)
    await world.until('another claim', () => primeClaim() !== undefined && primeClaim()?.metadata.uid !== before.claim)
    await world.untilPhase('disk', 'Succeeded')
    expect(observed().image(URL)).toMatchObject({ attempts: 2, downloads: 1 })
  })
})

describe('a DataVolume that is deleted while its importer runs', () => {
  it.each([
    ['Foreground', 'outlives', true],
    ['Background', 'is outlived by', false],
  ] as const)('in the %s %s its pod', async (propagationPolicy, _outlives, isLast) => {
    await startDownload()
    const uid = pod()?.metadata.uid
    let isPodLeft: boolean | undefined
    world.cluster.onCommit(({ resource, type, object }) => {
      if (resource === DATA_VOLUME && type === 'DELETED' && object.metadata.name === 'disk')
        isPodLeft = pod()?.metadata.uid === uid
    })
    world.cluster.admin.delete(DATA_VOLUME, DISK, { propagationPolicy })
    const { podMs } = await lives(uid)
    await world.until('the end of the DataVolume', () => world.dataVolume('disk') === undefined)
    expect(isPodLeft).toBe(!isLast)
    expect(podMs).toBeGreaterThanOrEqual(POD_END_MS)
    expect(observed().importing).toBe(0)
    await world.pass(60_000)
    expect(world.pods()).toEqual([])
  })
})

describe('an importer', () => {
  it('waits for its Secret, says so, and starts when that comes', async () => {
    createDisk({ s3: { url: 'https://s3.example.com/b/disk.qcow2', secretRef: 'creds' } })
    await world.until('the pod to wait', () => container()?.state.waiting?.reason === 'CreateContainerConfigError')
    expect(container()?.state.waiting?.message).toBe('secret "creds" not found')
    await world.pass(60_000)
    expect(observed().importing).toBe(0)
    const secret = { namespace: TEAM, name: 'creds' }
    world.create(SECRET, secret, { data: { accessKeyId: 'aWQ=' } })
    const text = "couldn't find key secretKey in Secret team/creds"
    await world.until('the other key to be missing', () => container()?.state.waiting?.message === text)
    world.cluster.admin.mergePatch(SECRET, secret, { data: { secretKey: 'a2V5' } })
    await world.untilPhase('disk', 'Succeeded')
  })

  it('that ran when its node was lost runs again from the first byte, with one restart more', async () => {
    await startDownload()
    const uid = pod()?.metadata.uid
    expect(container()?.restartCount).toBe(0)
    await world.startSimulators()
    await world.until('the restart', () => container()?.restartCount === 1)
    await world.untilPhase('disk', 'Succeeded')
    expect(pod()?.metadata.uid ?? uid).toBe(uid)
    expect(observed().image(URL)).toMatchObject({ attempts: 1, downloads: 1 })
  })
})

/** The claim that is downloaded to, before its volume moves to the claim of the DataVolume. */
function primeClaim() {
  return world.claims().find(({ metadata }) => metadata.name.startsWith('prime-'))
}

describe('a checksum that does not match', () => {
  it('is fatal: the DataVolume is Failed', async () => {
    world.simulators.cdi.script(DISK, { type: 'checksumMismatch' })
    createDisk()
    await world.untilPhase('disk', 'Failed')
  })
})
