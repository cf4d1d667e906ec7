import { beforeEach, describe, expect, it } from 'vitest'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { FARM, SimulatedCluster, short, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'

const KEY = `${TEAM}/disk`

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

const size = (name: string) => world.claim(name)?.spec.resources?.requests?.storage
const helpers = () => world.claims(FARM).filter(({ metadata }) => metadata.labels?.['cdi.kubevirt.io/OwnedByUID'])
const requests = (storage: string) => ({ resources: { requests: { storage } } })

describe('a clone of a snapshot in another namespace', () => {
  it('goes through its phases, and leaves no helper', async () => {
    await world.createSnapshot('golden')
    world.createClone('disk', 'golden')
    const clone = await world.untilPhase('disk', 'Succeeded')
    expect(world.shown.get(KEY)).toEqual(['CloneScheduled', 'CloneFromSnapshotSourceInProgress', 'Succeeded'])
    expect(short(clone, 'Bound')).toBe('True/Bound/PVC disk Bound')
    expect(short(clone, 'Ready')).toBe('True')
    expect(clone.metadata.annotations?.['cdi.kubevirt.io/cloneType']).toBe('snapshot')
    await world.until('no helper', () => helpers().length === 0)
    await world.until('no finalizer', () => world.claim('disk')?.metadata.finalizers?.length === 1)
    expect(world.claim('disk')?.metadata.finalizers).toEqual(['kubernetes.io/pvc-protection'])
    expect(world.claim('disk')?.metadata.annotations?.['cdi.kubevirt.io/clonePhase']).toBe('Succeeded')
    expect(world.dataVolume('disk')?.metadata.finalizers).toBeUndefined()
  })

  it('copies into a class that waits for its first consumer, where that cannot grow a volume', async () => {
    await world.createSnapshot('golden')
    world.createClone('root', 'golden', { storageClassName: 'late', resources: { requests: { storage: '2Gi' } } })
    await world.untilPhase('root', 'PendingPopulation')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Running')
    expect(world.dataVolume('root')?.metadata.annotations?.['cdi.kubevirt.io/cloneType']).toBe('copy')
  })

  it('has a helper beside the source, without an owner, and finalizers meanwhile', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'disk' }, { type: 'cloneStalls' })
    world.createClone('disk', 'golden')
    await world.until('the helper', () => helpers()[0]?.status?.phase === 'Bound')
    const [target, [helper]] = [world.claim('disk'), helpers()]
    expect(helper?.metadata.name).toBe(`tmp-pvc-${target?.metadata.uid}`)
    expect(helper?.metadata.ownerReferences).toBeUndefined()
    expect(helper?.metadata.labels).toEqual({
      'example.com/app': 'demo',
      'cdi.kubevirt.io/OwnedByUID': target?.metadata.uid,
    })
    expect(target?.metadata.finalizers).toContain('cdi.kubevirt.io/clonePopulator')
    expect(world.dataVolume('disk')?.metadata.finalizers).toEqual(['cdi.kubevirt.io/dataVolumeFinalizer'])
    await world.pass(60_000)
    expect(world.dataVolume('disk')?.status?.phase).toBe('CloneFromSnapshotSourceInProgress')
    expect(short(world.dataVolume('disk'), 'Running')).toBe('True/Populator is running')
  })

  it('that is deleted does not wait for its helpers, which go all the same', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'disk' }, { type: 'cloneStalls' })
    world.createClone('disk', 'golden')
    await world.until('the helper', () => helpers().length === 1)
    const options = { propagationPolicy: 'Foreground' } as const
    world.cluster.admin.delete(DATA_VOLUME, { namespace: TEAM, name: 'disk' }, options)
    await world.until('the end', () => world.dataVolume('disk') === undefined)
    await world.until('no helper', () => helpers().length === 0 && world.claim('disk') === undefined)
  })

  it('leaves no claim to a machine that waits for it when CDI is removed, and no node takes the machine', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'disk' }, { type: 'cloneStalls' })
    world.createClone('disk', 'golden')
    await world.until('the claim', () => world.claim('disk') !== undefined)
    world.createMachine('vm', 'disk')
    await world.untilStatus('vm', 'Provisioning')
    world.cluster.uninstall(DATA_VOLUME)
    await world.until('no claim', () => world.claim('disk') === undefined)
    const lost = '0/1 nodes are available: persistentvolumeclaim "disk" not found.'
    await world.until('the pod', () => world.pods()[0]?.status?.conditions?.[0]?.message === lost)
    world.createClaim('disk')
    await world.untilStatus('vm', 'Running')
  })

  it('repeats the words of the provisioner while nothing is wrong', async () => {
    await world.createSnapshot('golden')
    world.createClone('disk', 'golden')
    const clone = await world.untilPhase('disk', 'CloneFromSnapshotSourceInProgress')
    const bound = clone.status?.conditions?.find(({ type }) => type === 'Bound')
    expect(bound?.message).toMatch(
      /^target PVC disk Pending and Waiting for a volume to be created .* please verify that the provisioner is running/,
    )
    await world.untilPhase('disk', 'Succeeded')
  })

  it('goes on under simulators that are restarted', async () => {
    await world.createSnapshot('golden')
    world.createClone('disk', 'golden')
    await world.until('the helper', () => helpers().length === 1)
    await world.startSimulators()
    await world.untilPhase('disk', 'Succeeded')
    await world.until('no helper', () => helpers().length === 0)
  })
})

describe('a clone of a claim without a size', () => {
  const contentType = { 'cdi.kubevirt.io/storage.contentType': 'kubevirt' }
  const clone = (name: string, namespace: string, storage: object = {}) =>
    world.create(
      DATA_VOLUME,
      { namespace, name },
      {
        spec: {
          source: { pvc: { namespace: FARM, name: 'golden' } },
          storage: { storageClassName: 'fast', ...storage },
        },
      },
    )
  const sizePods = () => world.pods(FARM).filter(({ metadata }) => metadata.name.startsWith('size-detection-'))

  it.each([
    ['beside it', FARM, true],
    ['elsewhere', TEAM, false],
  ])('waits %s for a pod that reads it, and shows nothing meanwhile', async (_where, namespace, isOwned) => {
    world.createClaim('golden', FARM, '3Gi', {}, contentType)
    clone('disk', namespace)
    await world.until('the pod', () => sizePods().length === 1)
    const [pod] = sizePods()
    expect(pod?.metadata.name).toBe(`size-detection-${world.claim('golden', FARM)?.metadata.uid}`)
    expect(pod?.metadata.labels).toEqual({ app: 'containerized-data-importer', 'cdi.kubevirt.io': 'importer' })
    expect(pod?.metadata.ownerReferences?.length ?? 0).toBe(isOwned ? 1 : 0)
    expect(world.claim('disk', namespace)).toBeUndefined()
    // When the pod is seen, the controller may have been told of it already.
    expect([undefined, 'Pending']).toContain(world.dataVolume('disk', namespace)?.status?.phase)
    await world.until('the clone', () => world.dataVolume('disk', namespace)?.status?.phase === 'Succeeded')
    expect(world.claim('disk', namespace)?.spec.resources?.requests?.storage).toBe('3Gi')
    await world.until('no pod', () => sizePods().length === 0)
    clone('second', namespace)
    await world.until('its claim', () => world.claim('second', namespace) !== undefined)
    expect(sizePods()).toEqual([])
  })

  it('needs none with a size, nor where the claim has no disk of CDI', async () => {
    world.createClaim('golden', FARM, '3Gi')
    clone('plain', TEAM)
    await world.until('its claim', () => world.claim('plain') !== undefined)
    expect(sizePods()).toEqual([])
  })
})

describe('the size of a clone', () => {
  beforeEach(() => world.createSnapshot('golden', '2Gi'))

  it('is exactly that of the snapshot when none is asked for', async () => {
    world.createClone('disk', 'golden')
    await world.untilPhase('disk', 'Succeeded')
    expect(size('disk')).toBe('2Gi')
  })

  it('may not be less than the source has', async () => {
    world.createClone('disk', 'golden', requests('1Gi'))
    const clone = await world.untilPhase('disk', 'Pending')
    const text = 'target resources requests storage size is smaller than the source 1073741824 < 2147483648'
    const wanted = `False/CloneValidationFailed/The clone doesn't meet the validation requirements: ${text}`
    expect([short(clone, 'Bound'), short(clone, 'Ready')]).toEqual([wanted, wanted])
    await world.pass(60_000)
    expect(world.claim('disk')).toBeUndefined()
  })

  it('takes a pod to grow', async () => {
    world.createClone('grown', 'golden', requests('3Gi'))
    await world.untilPhase('grown', 'PrepClaimInProgress')
    await world.until('the pod', () => world.pods(FARM).some(({ metadata }) => metadata.name.startsWith('prep-')))
    await world.untilPhase('grown', 'Succeeded')
    await world.until('no pod', () => world.pods(FARM).length === 0)
    expect(world.shown.get(`${TEAM}/grown`)).toContain('PrepClaimInProgress')
  })
})

describe('a clone that cannot be made by the driver', () => {
  it.each([
    ['another provisioner', { storageClassName: 'other' }, 'provisioner does not match'],
    ['another volume mode', { volumeMode: 'Block' }, 'volume modes of source and target are incompatible'],
    ['a class that cannot expand', { storageClassName: 'fixed', ...requests('2Gi') }, 'No volume expansion'],
  ])('is copied for %s', async (_what, storage, reason) => {
    await world.createSnapshot('golden')
    world.createClone('disk', 'golden', storage)
    const clone = await world.untilPhase('disk', 'Succeeded')
    expect(world.shown.get(KEY)).toContain('CloneInProgress')
    expect(clone.metadata.annotations?.['cdi.kubevirt.io/cloneType']).toBe('copy')
    expect(world.claim('disk')?.metadata.annotations?.['cdi.kubevirt.io/cloneFallbackReason']).toContain(reason)
    await world.until('no helper', () => helpers().length === 0)
  })
})

describe('a clone without a source', () => {
  it('waits for a missing snapshot, and recovers', async () => {
    world.createClone('disk', 'golden')
    const clone = await world.untilPhase('disk', 'Pending')
    const text = "False/CloneWithoutSource/The source snapshot golden doesn't exist"
    expect([short(clone, 'Bound'), short(clone, 'Ready')]).toEqual([text, text])
    expect(world.claim('disk')).toBeUndefined()
    await world.createSnapshot('golden')
    await world.untilPhase('disk', 'Succeeded')
  })

  it('waits for a snapshot without a status, and then until it is ready', async () => {
    world.simulators.snapshotter.script({ name: 'golden' }, { type: 'slow', readyMs: 30_000 })
    const spec = { source: { persistentVolumeClaimName: 'late' }, volumeSnapshotClassName: 'snap' }
    world.create(VOLUME_SNAPSHOT, { namespace: FARM, name: 'golden' }, { spec })
    world.createClone('disk', 'golden')
    const text = /^False\/CloneValidationFailed\/.*no status on source snapshot yet$/
    const said = () => short(world.dataVolume('disk'), 'Ready') ?? ''
    await world.until('the snapshot to be waited for', () => text.test(said()))
    world.createClaim('late', FARM)
    await world.untilPhase('disk', 'CloneFromSnapshotSourceInProgress')
    await world.pass(10_000)
    expect(helpers()).toEqual([])
    expect(world.dataVolume('disk')?.status?.phase).toBe('CloneFromSnapshotSourceInProgress')
    await world.untilPhase('disk', 'Succeeded')
  })

  it('waits for a missing claim', async () => {
    const spec = { source: { pvc: { namespace: FARM, name: 'plain' } }, storage: { storageClassName: 'fast' } }
    world.create(DATA_VOLUME, { namespace: TEAM, name: 'disk' }, { spec })
    const clone = await world.untilPhase('disk', 'Pending')
    expect(short(clone, 'Bound')).toBe("False/CloneWithoutSource/The source pvc plain doesn't exist")
    world.createClaim('plain', FARM, '3Gi')
    await world.untilPhase('disk', 'Succeeded')
    expect(size('disk')).toBe('3Gi')
    expect(world.shown.get(KEY)).toContain('CSICloneInProgress')
  })

  it('waits silently for a DataSource, and looks through it once', async () => {
    await world.createSnapshot('second')
    world.simulators.snapshotter.script({ name: 'first' }, { type: 'slow', readyMs: 30_000 })
    world.createClaim('first-claim', FARM)
    const taken = { source: { persistentVolumeClaimName: 'first-claim' }, volumeSnapshotClassName: 'snap' }
    world.create(VOLUME_SNAPSHOT, { namespace: FARM, name: 'first' }, { spec: taken })
    const spec = {
      sourceRef: { kind: 'DataSource', namespace: FARM, name: 'golden' },
      storage: { storageClassName: 'fast' },
    }
    world.create(DATA_VOLUME, { namespace: TEAM, name: 'disk' }, { spec })
    await world.pass(10_000)
    expect(world.dataVolume('disk')?.status).toBeUndefined()
    const from = (name: string) => ({ spec: { source: { snapshot: { namespace: FARM, name } } } })
    world.create(DATA_SOURCE, { namespace: FARM, name: 'golden' }, from('first'))
    await world.untilPhase('disk', 'CloneFromSnapshotSourceInProgress')
    world.cluster.admin.mergePatch(DATA_SOURCE, { namespace: FARM, name: 'golden' }, from('second'))
    await world.until('the helper', () => helpers().length === 1)
    expect(helpers()[0]?.spec.dataSource?.name).toBe('first')
    await world.untilPhase('disk', 'Succeeded')
  })
})

describe('a clone that goes wrong', () => {
  it('shows the error, and goes on after it', async () => {
    await world.createSnapshot('golden')
    const go = world.simulators.cdi.script({ name: 'disk' }, { type: 'cloneError', message: 'no space' })
    world.createClone('disk', 'golden')
    await world.until('the error', () => short(world.dataVolume('disk'), 'Running') === 'False/Error/no space')
    go()
    await world.untilPhase('disk', 'Succeeded')
  })

  it('waits where a quota refuses its claim, and goes on when there is room', async () => {
    await world.createSnapshot('golden')
    const makeRoom = world.simulators.cdi.script({ name: 'disk' }, { type: 'quota', of: 'target' })
    world.createClone('disk', 'golden')
    await world.until(
      'the refusal',
      () => short(world.dataVolume('disk'), 'Bound')?.startsWith('False/ErrExceededQuota/') === true,
    )
    expect([world.dataVolume('disk')?.status?.phase, world.claim('disk')]).toEqual(['Pending', undefined])
    makeRoom()
    await world.untilPhase('disk', 'Succeeded')
  })

  it('may fail for good', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'disk' }, { type: 'cloneError', message: 'no space', fatal: true })
    world.createClone('disk', 'golden')
    await world.untilPhase('disk', 'Failed')
  })
})
