import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { matchersOf, renderKubeVirtVirtualMachine, virtualMachine } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { CLUTTERED, KEPT, raw } from '../../../test/prepared/cluster/raw-object.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { ownsEqual } from '../../runtime/owned-fields.ts'
import { viewMachine } from './caches.ts'
import { viewInstance, viewKubeVirt } from './kubevirt-views.ts'

const kubevirt = (...conditions: object[]) => viewKubeVirt(raw({ status: { conditions } }))
const condition = (type: string, status: string, message?: string, reason?: string) => ({
  type,
  status,
  reason,
  message,
})

describe('a view', () => {
  it.each([viewMachine, viewKubeVirt, viewInstance])('is made of an object that has nothing but a name: %o', (view) => {
    const bare = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'a' } }
    expect(view(bare)).toMatchObject(bare)
  })

  it.each([viewMachine, viewKubeVirt, viewInstance])(
    'keeps what is ours, and the controller among the owners: %o',
    (view) => {
      const { metadata } = view(
        raw(
          {},
          {
            generation: 3,
            finalizers: ['f'],
            labels: { app: 'theirs' },
            annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'huge' },
            ...CLUTTERED,
          },
        ),
      )
      expect(metadata).toEqual({ ...KEPT, generation: 3, finalizers: ['f'] })
    },
  )

  it('of KubeVirt’s machine keeps our labels and the fingerprint', () => {
    const { metadata } = viewKubeVirt(
      raw(
        {},
        {
          labels: { [LABELS.vmUid]: 'v', [LABELS.workspace]: 'w', app: 'theirs' },
          annotations: { [ANNOTATIONS.cloudInit]: 'f', note: 'theirs' },
        },
      ),
    )
    expect(metadata).toMatchObject({
      labels: { [LABELS.vmUid]: 'v', [LABELS.workspace]: 'w' },
      annotations: { [ANNOTATIONS.cloudInit]: 'f' },
    })
    expect(JSON.stringify(metadata)).not.toContain('theirs')
  })
})

describe('what KubeVirt says of a machine', () => {
  const FAILURE = condition('Failure', 'True', 'refused', 'FailedCreate')
  const HOTPLUG = condition('Failure', 'True', 'another CPU hotplug is in progress', 'HotPlugCPUError')
  const UNSYNCHRONIZED = condition('Synchronized', 'False', 'no quota')
  const UNSCHEDULED = condition('PodScheduled', 'False', 'no node')

  it.each<[string, object[], string, string]>([
    ['nothing', [], '', ''],
    ['that all is well', [condition('Failure', 'False', 'x'), condition('Synchronized', 'True', 'x')], '', ''],
    ['that no node is found', [UNSCHEDULED], 'no node', ''],
    ['what stops it, before what the scheduler said', [UNSCHEDULED, UNSYNCHRONIZED], 'no quota', ''],
    ['that it was refused, before all others', [UNSCHEDULED, UNSYNCHRONIZED, FAILURE], 'refused', 'refused'],
    ['a reason without a text', [condition('Synchronized', 'False', '', 'FailedCreate')], 'FailedCreate', ''],
    ['nothing but the name of a condition', [condition('PodScheduled', 'False')], 'PodScheduled', ''],
    ['that it cannot change a guest, which is no refusal', [HOTPLUG], 'another CPU hotplug is in progress', ''],
  ])('is in one text: %s', (_what, conditions, trouble, failure) => {
    expect(kubevirt(...conditions)).toMatchObject({ trouble, failure })
  })

  it.each<[string, object[], boolean]>([
    ['nothing', [], false],
    ['that it is not', [condition('Ready', 'False')], false],
    ['that it does not know', [condition('Ready', 'Unknown')], false],
    ['that it is', [condition('Ready', 'True')], true],
  ])('about its being ready: %s', (_what, conditions, expected) => {
    expect(kubevirt(...conditions).isReady).toBe(expected)
    expect(viewInstance(raw({ status: { conditions } })).isReady).toBe(expected)
  })

  it.each<[string, object[], string]>([
    ['nothing', [], ''],
    ['that it is ready', [condition('Ready', 'True', 'x')], ''],
    ['a text', [condition('Ready', 'False', 'no console', 'GuestNotRunning')], 'no console'],
    ['a reason alone', [condition('Ready', 'False', '', 'GuestNotRunning')], 'GuestNotRunning'],
  ])('about why it is not ready: %s', (_what, conditions, expected) => {
    expect(kubevirt(...conditions).unready).toBe(expected)
  })

  it.each([
    [undefined, undefined],
    [{}, undefined],
    [{ retryAfterTimestamp: null }, undefined],
    [{ retryAfterTimestamp: 'soon' }, undefined],
    [{ retryAfterTimestamp: '2026-01-01T00:00:40Z' }, Date.UTC(2026, 0, 1, 0, 0, 40)],
  ])('about when it starts it again: %j', (startFailure, expected) => {
    expect(viewKubeVirt(raw({ status: { startFailure } })).retryAt).toBe(expected)
  })

  const HOT = condition('HotVCPUChange', 'True')
  const RESTART = condition('RestartRequired', 'True', 'memory')
  it.each<[string, object[], string]>([
    ['nothing', [], ''],
    ['that it waits for a restart', [RESTART], 'memory'],
    ['that it does not', [condition('RestartRequired', 'False', 'memory')], ''],
    ['CPUs, and it can migrate', [HOT, condition('LiveMigratable', 'True')], ''],
    [
      'memory, and it cannot migrate',
      [condition('HotMemoryChange', 'True'), condition('LiveMigratable', 'False')],
      'the machine cannot migrate, so it gets its memory when it restarts',
    ],
    ['CPUs, and nobody knows whether it can migrate', [HOT], ''],
    [
      'CPUs, and it cannot migrate',
      [HOT, condition('LiveMigratable', 'False')],
      'the machine cannot migrate, so it gets its CPUs when it restarts',
    ],
    ['both', [HOT, condition('LiveMigratable', 'False'), RESTART], 'memory'],
    [
      'that it cannot make it while the guest runs',
      [condition('Failure', 'True', 'another CPU hotplug is in progress', 'HotPlugCPUError')],
      'KubeVirt cannot change the guest while it runs: another CPU hotplug is in progress',
    ],
    ['that it cannot dump its memory', [condition('Failure', 'True', 'no', 'MemoryDumpError')], ''],
  ])('about a change that waits: %s', (_what, conditions, expected) => {
    const shown = (printableStatus: string) => viewKubeVirt(raw({ status: { printableStatus, conditions } }))
    expect(shown('Running').restartRequired).toBe(expected)
    // No change waits for the restart of a guest that is off, although the condition of its last run still exists.
    expect(shown('Stopped').restartRequired).toBe(conditions.includes(RESTART) ? expected : '')
  })
})

describe('a change that KubeVirt makes by a migration', () => {
  const HOT = [condition('HotVCPUChange', 'True'), condition('HotMemoryChange', 'True')]
  const shown = (printableStatus: string, ...conditions: object[]) =>
    viewKubeVirt(raw({ status: { printableStatus, conditions } }))

  it.each([[[condition('LiveMigratable', 'True')]], [[]]])(
    'waits for one, unless it is known that it cannot: %j',
    (more) => {
      expect(shown('Running', ...HOT, ...more).migrationRequired).toMatch(
        /^the guest gets its CPUs and memory when it migrates/,
      )
      expect(shown('Stopped', ...HOT, ...more).migrationRequired).toBe('')
    },
  )

  it('waits for nothing while one is under way, also where KubeVirt refuses it meanwhile', () => {
    const refused = condition('Failure', 'True', 'CPU hotplug is not allowed while VMI is migrating', 'HotPlugCPUError')
    expect(shown('Migrating', ...HOT, refused)).toMatchObject({ restartRequired: '', migrationRequired: '' })
    expect(shown('Running', refused).restartRequired).toContain('not allowed while VMI is migrating')
  })
})

describe('the spec of KubeVirt’s machine', () => {
  const wanted = renderKubeVirtVirtualMachine({
    vm: { name: 'vm', namespace: 'team', uid: 'vm-uid' },
    hostname: 'vm',
    firmwareUuid: '5d307ca9-b3ef-828c-8861-06e72d69f223',
    cpu: '1500m',
    memory: '2Gi',
    interfaces: [{ network: 'a', macAddress: '02:00:00:00:00:01' }],
    cloudInit: { fingerprint: 'f', hasNetworkData: true },
    workspace: 'w',
    nodeGroup: 'g',
  })
  const { template } = wanted.spec
  const { domain } = template.spec
  const stored = (spec: object): KubeObject => ({ ...wanted, spec }) as KubeObject

  it('is what we render, in full: nothing of it is lost', () => {
    expect(viewKubeVirt(stored(wanted.spec)).spec).toEqual(wanted.spec)
    expect(viewKubeVirt(stored(wanted.spec)).firmwareUuid).toBe('5d307ca9-b3ef-828c-8861-06e72d69f223')
  })

  it('is as wanted, however long the names in it are', () => {
    const name = (letter: string, length = 253) => letter.repeat(length)
    const networks = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((letter) => name(letter, 58))
    const matchers = { kind: 'VirtualMachineClusterInstancetype', name: name('i') } as const
    const { named, annotation } = matchersOf({ instancetype: matchers, preference: { name: name('p') } })
    const long = renderKubeVirtVirtualMachine({
      vm: { name: 'vm', namespace: 'team', uid: 'vm-uid' },
      hostname: 'vm',
      firmwareUuid: '5d307ca9-b3ef-828c-8861-06e72d69f223',
      matchers: { named, annotation },
      hasPreference: true,
      interfaces: networks.map((network, at) => ({ network, macAddress: `02:00:00:00:00:0${at}` })),
      givenMacAddresses: networks,
      disks: networks.map((letters) => ({ name: letters.slice(0, 20), claim: name('c') })),
      disksNote: networks.map((letters) => `${letters.slice(0, 20)}=${name('c')}`).join(','),
      cloudInit: { fingerprint: 'f', hasNetworkData: true },
    })
    expect(ownsEqual(long, viewKubeVirt(long as KubeObject))).toBe(true)
  })

  it('has nothing of what KubeVirt and its webhooks add', () => {
    const devices = { ...domain.devices, logSerialConsole: false }
    const added = {
      ...wanted.spec,
      updateVolumesStrategy: 'Replacement',
      template: {
        metadata: {
          labels: { ...template.metadata.labels, app: 'theirs' },
          annotations: { 'kubevirt.io/pci-topology-version': 'v3' },
          creationTimestamp: null,
        },
        spec: {
          ...template.spec,
          architecture: 'amd64',
          evictionStrategy: 'None',
          domain: {
            ...domain,
            machine: { type: 'q35' },
            cpu: { ...domain.cpu, model: 'host-model', maxSockets: 8 },
            memory: { ...domain.memory, maxGuest: '8Gi' },
            firmware: { ...domain.firmware, serial: 'e4686d2c' },
            devices,
          },
        },
      },
    }
    expect(viewKubeVirt(stored(added)).spec).toEqual(wanted.spec)
    expect(ownsEqual(wanted, viewKubeVirt(stored(added)))).toBe(true)
  })

  it.each<[string, object]>([
    ['nothing', {}],
    ['a template without a spec', { template: {} }],
    ['a domain without devices', { template: { spec: { domain: {} } } }],
  ])('may lack all: %s', (_what, spec) => {
    expect(ownsEqual(wanted, viewKubeVirt(stored(spec)))).toBe(false)
  })
})

describe('a pause', () => {
  it('has its reason, its text and its time, as long as it lasts', () => {
    const since = { lastTransitionTime: '2026-01-01T00:00:00Z' }
    const paused = { ...condition('Paused', 'True', 'VMI was paused by user', 'PausedByUser'), ...since }
    const facts = { reason: 'PausedByUser', message: 'VMI was paused by user', since: Date.UTC(2026) }
    expect(kubevirt(paused).pause).toEqual(facts)
    expect(kubevirt({ ...paused, status: 'False' }).pause).toBeUndefined()
    expect(viewInstance(raw({ status: { conditions: [paused] } })).isPaused).toBe(true)
    expect(viewInstance(raw({ status: { conditions: [] } })).isPaused).toBe(false)
  })
})

describe('an instance', () => {
  it('shows whether its agent answers, and why it is not ready', () => {
    const of = (...conditions: object[]) => viewInstance(raw({ status: { conditions } }))
    expect(of(condition('AgentConnected', 'True')).hasAgent).toBe(true)
    expect(of(condition('AgentConnected', 'False')).hasAgent).toBe(false)
    expect(of(condition('Ready', 'False', '', 'PodTerminating')).unreadyReason).toBe('PodTerminating')
    expect(of(condition('Ready', 'True', '', 'PodTerminating')).unreadyReason).toBe('')
  })

  it('has its phase, its node and its addresses', () => {
    const status = {
      phase: 'Running',
      nodeName: 'node-1',
      interfaces: [
        { ipAddress: '10.0.0.1', ipAddresses: ['10.0.0.1', 'fd00::1'] },
        { ipAddress: '10.0.0.2' },
        { name: 'without one' },
        { ipAddresses: [''] },
      ],
    }
    expect(viewInstance(raw({ status }))).toMatchObject({
      phase: 'Running',
      nodeName: 'node-1',
      addresses: ['10.0.0.1', 'fd00::1', '10.0.0.2'],
    })
  })

  it('has no more addresses than a status takes', () => {
    const interfaces = [{ ipAddresses: Array.from({ length: 100 }, (_, at) => `10.0.0.${at}`) }]
    expect(viewInstance(raw({ status: { interfaces } })).addresses).toHaveLength(64)
  })

  it('has no address longer than a status takes: the guest says what it likes', () => {
    const interfaces = [{ ipAddresses: ['x'.repeat(100), '10.0.0.1'] }]
    const { addresses } = viewInstance(raw({ status: { interfaces } }))
    expect(Math.max(...addresses.map((address) => address.length))).toBeLessThanOrEqual(64)
  })

  it('has no word of others that is longer than the field of ours that it goes into', () => {
    const long = 'x'.repeat(5_000)
    const { nodeName = '' } = viewInstance(raw({ status: { nodeName: long } }))
    const { printableStatus } = viewKubeVirt(raw({ status: { printableStatus: long } }))
    const kubevirt = { name: 'vm', printableStatus, nodeName }
    expect([printableStatus.length, nodeName.length]).toEqual([64, 253])
    expect(virtualMachine.status.safeParse({ kubevirt }).error).toBeUndefined()
  })
})
