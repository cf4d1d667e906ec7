import { beforeEach, describe, expect, it } from 'vitest'
import { SimulatedCluster, short, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'

const KEY = `${TEAM}/vm`
const NO_CLAIM = 'PVC team/root does not exist, waiting for it to appear'

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

describe('a virtual machine whose disk is not there yet', () => {
  it.each(['', 'Pending', 'CloneScheduled'])('lacks its claim while the DataVolume is "%s"', async (phase) => {
    world.createScriptedDataVolume('root')
    if (phase !== '') world.setDataVolume('root', phase)
    world.createMachine('vm', 'root')
    const machine = await world.untilStatus('vm', 'ErrorPvcNotFound')
    expect(machine.status?.created).toBe(true)
    expect(short(machine, 'Synchronized')).toBe(`False/FailedPvcNotFound/${NO_CLAIM}`)
    expect(short(machine, 'PodScheduled')).toBe(`False/Unschedulable/${NO_CLAIM}`)
    expect(short(machine, 'Ready')).toContain('False/')
  })

  it('is unschedulable with the stale text while the clone of a claim that came later goes on', async () => {
    await world.createSnapshot('golden')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'ErrorPvcNotFound')
    const go = world.simulators.cdi.script({ name: 'root' }, { type: 'cloneStalls' })
    world.createClone('root', 'golden')
    const machine = await world.untilStatus('vm', 'ErrorUnschedulable')
    expect(short(machine, 'PodScheduled')).toBe(`False/Unschedulable/${NO_CLAIM}`)
    expect(short(machine, 'Synchronized')).toBeUndefined()
    await world.pass(60_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('ErrorUnschedulable')
    expect(world.pods()).toEqual([])
    go()
    await world.untilStatus('vm', 'Running')
    expect(short(world.machine('vm'), 'PodScheduled')).toBeUndefined()
  })

  it('is provisioning when claim and DataVolume were there before it', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'root' }, { type: 'cloneStalls' })
    world.createClone('root', 'golden')
    await world.untilPhase('root', 'CloneFromSnapshotSourceInProgress')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Provisioning')
    const notReady = () => short(world.machine('vm'), 'DataVolumesReady')?.startsWith('False/NotAllDVsReady') === true
    await world.until('NotAllDVsReady', notReady)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Provisioning')
  })

  it('is provisioning while the claim is bound and the DataVolume is not done', async () => {
    world.createClaim('root')
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'CloneInProgress')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Provisioning')
    world.setDataVolume('root', 'Succeeded')
    await world.untilStatus('vm', 'Running')
  })

  it('waits for binding while its launcher pod is the first consumer of a clone', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'root' }, { type: 'slowClone', delayMs: 1_000 })
    world.createClone('root', 'golden', { storageClassName: 'late' })
    await world.untilPhase('root', 'PendingPopulation')
    await world.pass(60_000)
    expect(world.dataVolume('root')?.status?.phase).toBe('PendingPopulation')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Running')
    const shown = world.shown.get(KEY) ?? []
    expect(shown.indexOf('WaitingForVolumeBinding')).toBeLessThan(shown.indexOf('Provisioning'))
    expect(shown).toContain('WaitingForVolumeBinding')
  })

  it('waits for binding when the DataVolume is in WaitForFirstConsumer', async () => {
    world.createClaim('root', TEAM, '1Gi', { storageClassName: 'late' })
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'WaitForFirstConsumer')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'WaitingForVolumeBinding')
    await world.until('the condition', () => short(world.machine('vm'), 'Provisioning') === 'True')
    expect(world.machine('vm')?.status?.printableStatus).toBe('WaitingForVolumeBinding')
  })

  it.each(['Error', 'ImagePullFailed'])('shows DataVolumeError while the importer is in %s', async (reason) => {
    world.createClaim('root')
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'ImportInProgress', { type: 'Running', status: 'False', reason })
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'DataVolumeError')
    world.setDataVolume('root', 'ImportInProgress', { type: 'Running', status: 'True', reason: 'Pod is running' })
    await world.untilStatus('vm', 'Provisioning')
  })

  it('fails with a failed DataVolume, and starts by itself later', async () => {
    world.createClaim('root')
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'Failed')
    world.createMachine('vm', 'root')
    await world.until('a failed start', () => world.machine('vm')?.status?.startFailure?.consecutiveFailCount === 1)
    await world.untilStatus('vm', 'DataVolumeError')
    world.setDataVolume('root', 'Succeeded')
    await world.untilStatus('vm', 'CrashLoopBackOff')
    await world.untilStatus('vm', 'Running')
    expect(world.machine('vm')?.status?.startFailure).toBeUndefined()
  })
})
