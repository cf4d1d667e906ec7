import { describe, expect, it } from 'vitest'
import { aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { aMachine, anInstance, KUBEVIRT } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import {
  aMachineWorld,
  aRunningWorld,
  type MachineWorldOverrides,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { neighbourUnreached } from '../../../cluster/neighbour-facts.ts'
import { awaitedNeighbours } from './absence.ts'

const GOING = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }
const OFF = { machine: aMachine({ printableStatus: 'Stopped', conditions: [] }), instance: undefined }

describe('what a machine waits for', () => {
  it.each<[string, MachineWorldOverrides, string[]]>([
    ['its guest runs', {}, []],
    ['its guest is not ready', { machine: aMachine(KUBEVIRT.starting), instance: undefined }, ['KubeVirt']],
    [
      'its guest has ended, and the machine does not show it',
      { instance: anInstance({ phase: 'Succeeded' }) },
      ['KubeVirt'],
    ],
    ['it is off', { ...OFF, spec: { runStrategy: 'Halted' } }, []],
    ['it is to be off', { spec: { runStrategy: 'Halted' } }, ['KubeVirt']],
    ['it is not to be deployed', { spec: { ignoreOnDeploy: true } }, []],
    ['KubeVirt restores it', { restoring: { restore: 'back' } }, ['KubeVirt']],
    ['it is being deleted', GOING, ['KubeVirt']],
    ['its disk is being deleted', { ...GOING, machine: undefined, instance: undefined }, ['CDI']],
    ['its disk is being cloned', { clone: aDisk(DISK.cloning), machine: undefined, instance: undefined }, ['CDI']],
    [
      'its disk waits for a pod',
      { clone: aDisk(DISK.waiting), machine: aMachine(KUBEVIRT.starting) },
      ['KubeVirt', 'CDI'],
    ],
    ['its disk has failed', { clone: aDisk(DISK.failed), machine: undefined, instance: undefined }, []],
  ])('where %s', (_what, more, expected) => {
    expect(awaitedNeighbours(aRunningWorld(more))).toEqual(expected)
  })

  it('is none of them before it has a disk', () => {
    expect(awaitedNeighbours(aMachineWorld())).toEqual([])
  })
})

describe('a webhook that cannot be called', () => {
  it.each([
    ['virtualmachines-mutator.kubevirt.io', 'KubeVirt'],
    ['datavolume-mutate.cdi.kubevirt.io', 'CDI'],
    ['kubevirt.io.example.com', undefined],
  ])('is that of a neighbour, by its name: %s', (webhook, expected) => {
    const message = `Internal error occurred: failed calling webhook "${webhook}": failed to call webhook: refused`
    expect(neighbourUnreached(message)).toBe(expected)
  })

  it('is none if it has answered', () => {
    expect(
      neighbourUnreached('admission webhook "virtualmachine-validator.kubevirt.io" denied the request'),
    ).toBeUndefined()
  })
})
