import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { anInstance, KUBEVIRT, PASSWORD, SPEC } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { toTime } from '../../../base/time.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { changeTo } from '../../../runtime/owned-fields.ts'

describe('what others change', () => {
  const applied = (walk: MachineWalk): readonly KubeObject[] => walk.plan().apply
  type Change = Parameters<MachineWalk['tamper']>[0]

  it.each<[string, Change]>([
    ['stopped the machine', { spec: { runStrategy: 'Halted' } }],
    ['renamed the host', { template: { hostname: 'other' } }],
    ['took the networks', { template: { networks: [] } }],
    ['took the volumes', { template: { volumes: [] } }],
    ['tied it to a node', { template: { affinity: { nodeAffinity: {} } } }],
    ['removed our labels', { metadata: { labels: {} } }],
    ['removed the fingerprint', { metadata: { annotations: {} } }],
  ])('in our part of the machine is put right: somebody %s', (_what, change) => {
    const walk = new MachineWalk().deploy().tamper(change)
    expect(applied(walk).map(({ kind, metadata: { name } }) => `${kind} ${name}`)).toEqual(['VirtualMachine vm'])
    const before = walk.log.length
    expect(walk.settle().log.slice(before)).toEqual(['apply VirtualMachine vm'])
  })

  it.each<[string, (walk: MachineWalk) => Change]>([
    ['labelled it', ({ world }) => ({ metadata: { labels: { ...world.machine?.metadata.labels, app: 'theirs' } } })],
    ['chose an architecture', () => ({ template: { architecture: 'arm64' } })],
    ['set a priority', () => ({ template: { priorityClassName: 'high' } })],
  ])('elsewhere in the machine is theirs: somebody %s', (_what, change) => {
    const walk = new MachineWalk().deploy()
    expect(applied(walk.tamper(change(walk)))).toEqual([])
  })

  it('nothing at all: what KubeVirt itself adds is no change', () => {
    const walk = new MachineWalk().deploy()
    expect(applied(walk)).toEqual([])
    expect(walk.settle().step()).toBe(false)
  })

  it('a machine that is deleted is made again when it is gone, on the same disk and with the same identity', () => {
    const walk = new MachineWalk().deploy()
    const { machine } = walk.world
    if (machine === undefined) throw new Error('no machine')
    const before = walk.log.length
    walk.set({ machine: { ...machine, metadata: { ...machine.metadata, deletionTimestamp: '2026-01-01T01:00:00Z' } } })
    walk.settle()
    expect(walk.stand).toBe('Provisioning/Starting')
    expect(walk.message).toContain('is being deleted: it is recreated when it is gone')
    walk.machineGone().settle().start()
    expect(walk.log.slice(before).filter((line) => !line.startsWith('status'))).toEqual(['apply VirtualMachine vm'])
    expect(walk.world.machine?.firmwareUuid).toBe(machine.firmwareUuid)
    expect(walk.condition('RebuildRequired')).toBeUndefined()
  })

  it('the identity that the guest has is kept, whoever gave it', () => {
    const walk = new MachineWalk().deploy()
    const firmware = { uuid: '00000000-0000-8000-8000-000000000000' }
    const { machine } = walk.world
    if (machine === undefined) throw new Error('no machine')
    const { domain } = (machine.spec as { template: { spec: { domain: object } } }).template.spec
    expect(applied(walk.tamper({ template: { domain: { ...domain, firmware } } }))).toEqual([])
  })

  describe('the hardware', () => {
    const EFI = { efi: { secureBoot: false, persistent: true } }
    type Domain = { readonly firmware: object; readonly features?: object; readonly devices: object }
    const domainOf = ({ world: { machine } }: MachineWalk) => {
      if (machine === undefined) throw new Error('no machine')
      return (machine.spec as { readonly template: { readonly spec: { readonly domain: Domain } } }).template.spec
        .domain
    }
    const hardware = (walk: MachineWalk) => {
      const { firmware, features, devices } = domainOf(walk)
      return { ...firmware, ...features, ...devices }
    }
    const given = (walk: MachineWalk) => {
      const { firmware, devices, ...domain } = domainOf(walk)
      const own = { firmware: { ...firmware, bootloader: EFI }, devices: { ...devices, tpm: { persistent: true } } }
      return walk.tamper({
        template: { domain: { ...domain, ...own, features: { smm: { enabled: true }, acpi: {} } } },
      })
    }

    it('that people gave it stays, as long as the spec does not name it', () => {
      expect(applied(given(new MachineWalk().deploy()))).toEqual([])
    })

    it.each<[string, Readonly<Record<string, unknown>>, object]>([
      ['bios', { firmware: 'bios' }, { bootloader: { bios: {} }, smm: { enabled: false }, tpm: { persistent: true } }],
      [
        'uefi',
        { firmware: 'uefi', tpm: true },
        { bootloader: { efi: { secureBoot: false } }, tpm: { persistent: true } },
      ],
      [
        'uefi-secure',
        { firmware: 'uefi-secure' },
        { bootloader: { efi: { secureBoot: true } }, smm: { enabled: true } },
      ],
    ])('is that of the spec: %s', (_what, spec, expected) => {
      const walk = given(new MachineWalk().deploy()).edit(spec).settle()
      expect(hardware(walk)).toMatchObject(expected)
      expect(applied(walk)).toEqual([])
    })

    it('has no TPM where the spec says so, and one without memory of before where it asks for one', () => {
      const walk = given(new MachineWalk().deploy()).edit({ tpm: false }).settle()
      expect(hardware(walk)).not.toHaveProperty('tpm')
      expect(hardware(walk.edit({ tpm: true }).settle())).toMatchObject({ tpm: {} })
      expect(hardware(walk.edit({ firmware: 'uefi-secure' }).settle())).toMatchObject({ smm: { enabled: true } })
    })
  })

  describe('the hardware of a Windows guest', () => {
    type Guest = {
      readonly domain: {
        readonly features?: object
        readonly clock?: object
        readonly devices: { readonly disks: object[] }
      }
      readonly volumes: object[]
    }
    const guest = ({ world: { machine } }: MachineWalk) => {
      if (machine === undefined) throw new Error('no machine')
      return (machine.spec as { template: { spec: Guest } }).template.spec
    }
    const THEIRS = {
      features: { kvm: { hidden: true }, hyperv: { vpindex: {} } },
      clock: { timezone: 'Europe/Berlin' },
    }
    const gift = (walk: MachineWalk) => walk.tamper({ template: { domain: { ...guest(walk).domain, ...THEIRS } } })

    it('is that of KubeVirt, beside what people gave it', () => {
      const walk = gift(new MachineWalk().deploy())
      expect(applied(walk)).toEqual([])
      walk.edit({ os: 'windows' }).settle()
      expect(guest(walk).domain).toMatchObject({
        features: { hyperv: { vpindex: {}, relaxed: {}, vapic: {}, spinlocks: { spinlocks: 8191 } } },
        clock: { timezone: 'Europe/Berlin', timer: { hpet: { present: false } } },
      })
      expect(guest(walk).domain.devices.disks.slice(0, 2)).toEqual([
        { name: 'rootdisk', bootOrder: 1, disk: { bus: 'sata' } },
        { name: 'cloudinit', cdrom: { bus: 'sata' } },
      ])
      expect(applied(walk)).toEqual([])
      const { features: _lost, ...domain } = guest(walk).domain
      walk.tamper({ template: { domain } }).settle()
      expect(guest(walk).domain).toMatchObject({ features: { acpi: {}, apic: {}, hyperv: { relaxed: {} } } })
    })

    it('goes when the spec says that it is none', () => {
      const walk = new MachineWalk().deploy()
      const before = guest(walk)
      walk.edit({ os: 'windows', sysprepSecretRef: { name: 'answers' } }).settle()
      expect(guest(walk).volumes).toContainEqual({ name: 'sysprep', sysprep: { secret: { name: 'answers' } } })
      walk.edit({ os: undefined, sysprepSecretRef: undefined }).settle()
      expect([guest(walk), applied(walk)]).toEqual([before, []])
    })

    it.each<[string, Parameters<MachineWalk['edit']>[0]]>([
      ['is none', { os: undefined }],
      ['has a preference', { preference: { name: 'windows.11' } }],
    ])('goes without the features of others when it %s', (_, change) => {
      const walk = new MachineWalk().deploy().edit({ os: 'windows' }).settle()
      const wanted = applied(walk.edit(change)).find(({ kind }) => kind === 'VirtualMachine')
      const patch = changeTo(wanted as KubeObject, walk.world.machine as KubeObject)
      expect(patch).toHaveProperty('spec.template.spec.domain.features', { acpi: null, apic: null, hyperv: null })
      expect(walk.settle() && applied(walk)).toEqual([])
    })

    it('leaves alone a CD-ROM of people that has the name of ours', () => {
      const walk = new MachineWalk().deploy()
      const theirs = { name: 'sysprep', sysprep: { configMap: { name: 'theirs' } } }
      walk.tamper({ template: { volumes: [...guest(walk).volumes, theirs] } }).settle()
      expect(guest(walk).volumes).toContainEqual(theirs)
    })
  })

  describe('an instance type and a preference', () => {
    type Guest = {
      readonly instancetype?: object
      readonly preference?: object
      readonly template: { readonly spec: { readonly domain: { readonly devices: { readonly disks: object[] } } } }
    }
    const guest = ({ world: { machine } }: MachineWalk) => {
      if (machine === undefined) throw new Error('no machine')
      return machine.spec as Guest
    }
    const domain = (walk: MachineWalk) => guest(walk).template.spec.domain
    const cluster = (name: string, more: object = {}) => ({ kind: 'VirtualMachineClusterInstancetype', name, ...more })
    const small = { resources: undefined, instancetype: { name: 'u1.small' } }
    const windows = { preference: { name: 'windows.11' } }
    const PREFERENCE = { kind: 'VirtualMachineClusterPreference', name: 'windows.11' }

    /** What KubeVirt does with the reference policy expand. */
    const expand = (walk: MachineWalk, memory = '2Gi') => {
      const { devices, ...rest } = domain(walk)
      const disks = devices.disks.map((disk) => ({ ...disk, disk: { bus: 'sata' }, cache: 'none' }))
      const sized = { cpu: { sockets: 1, cores: 2, threads: 1, model: 'x' }, memory: { guest: memory, hugepages: {} } }
      const requests = { requests: { memory: '1Gi' } }
      const all = { ...rest, ...sized, resources: requests, devices: { ...devices, disks } }
      return walk.tamper({ spec: { instancetype: undefined, preference: undefined }, template: { domain: all } })
    }

    it('take the place of CPU and memory, and leave the devices to the preference', () => {
      const walk = new MachineWalk()
        .deploy()
        .edit({ ...small, ...windows })
        .settle()
      expect(guest(walk)).toMatchObject({ instancetype: cluster('u1.small'), preference: PREFERENCE })
      expect(domain(walk)).not.toHaveProperty('cpu')
      expect(domain(walk)).not.toHaveProperty('memory')
      expect(domain(walk).devices.disks[0]).toEqual({ name: 'rootdisk', bootOrder: 1, disk: {} })
      expect(applied(walk)).toEqual([])
      walk.edit({ resources: SPEC['resources'], instancetype: undefined, preference: undefined }).settle()
      expect(domain(walk)).toMatchObject({ cpu: { sockets: 2 }, memory: { guest: '2Gi' } })
      expect(guest(walk)).not.toHaveProperty('instancetype')
      expect(applied(walk)).toEqual([])
    })

    it('keep the revision that KubeVirt has noted, as long as the name is the same', () => {
      const walk = new MachineWalk().deploy().edit(small).settle()
      const noted = cluster('u1.small', { revisionName: 'vm-u1.small-1' })
      walk.tamper({ spec: { instancetype: noted } })
      expect([guest(walk).instancetype, applied(walk)]).toEqual([noted, []])
      walk.edit({ instancetype: { name: 'u1.large' } }).settle()
      expect(guest(walk).instancetype).toEqual(cluster('u1.large'))
      walk.tamper({ spec: { instancetype: cluster('u1.small') } }).settle()
      expect(guest(walk).instancetype).toEqual(cluster('u1.large'))
    })

    it('that KubeVirt puts into the machine are not written again', () => {
      const walk = expand(
        new MachineWalk()
          .deploy()
          .edit({ ...small, ...windows })
          .settle(),
      )
      expect(applied(walk)).toEqual([])
      walk.edit({ name: 'other' }).settle()
      expect(domain(walk)).toMatchObject({
        cpu: { sockets: 1, cores: 2 },
        memory: { guest: '2Gi' },
        devices: { disks: [{ name: 'rootdisk', disk: { bus: 'sata' }, cache: 'none' }, {}] },
      })
      expect([guest(walk).instancetype, applied(walk)]).toEqual([undefined, []])
    })

    it('that KubeVirt has put into the machine make room for others', () => {
      const walk = expand(
        new MachineWalk()
          .deploy()
          .edit({ ...small, ...windows })
          .settle(),
      )
      walk.edit({ instancetype: { name: 'u1.large' } }).settle()
      expect(guest(walk)).toMatchObject({ instancetype: cluster('u1.large'), preference: PREFERENCE })
      for (const field of ['cpu', 'memory', 'resources']) expect(domain(walk)).not.toHaveProperty(field)
      expect(applied(expand(walk, '8Gi'))).toEqual([])
      walk.edit({ resources: SPEC['resources'], instancetype: undefined }).settle()
      expect(domain(walk)).toMatchObject({ cpu: { sockets: 2 }, memory: { guest: '2Gi' } })
      expect(domain(walk)).not.toHaveProperty('resources')
    })

    it('that people take away come back, and those of people stay', () => {
      const walk = new MachineWalk()
        .deploy()
        .edit({ ...small, ...windows })
        .settle()
      walk.tamper({ spec: { preference: undefined } }).settle()
      expect(guest(walk).preference).toEqual(PREFERENCE)
      const theirs = new MachineWalk().deploy().tamper({ spec: { preference: { name: 'theirs' } } })
      expect(applied(theirs)).toEqual([])
      expect(guest(theirs.edit({ name: 'other' }).settle()).preference).toEqual({ name: 'theirs' })
    })

    it('that do not exist are told', () => {
      const walk = new MachineWalk().deploy().edit(small).settle().set({ instance: undefined })
      const message = 'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "u1.small" not found'
      const conditions = [{ type: 'Failure', status: 'True', reason: 'FailedFindInstancetype', message }]
      walk.kubevirt({ printableStatus: 'Stopped', conditions })
      expect([walk.status.reason, walk.message]).toEqual(['StartFailed', expect.stringContaining(message)])
    })
  })

  describe('the placement', () => {
    const placed = ({ world: { machine } }: MachineWalk) => {
      if (machine === undefined) throw new Error('no machine')
      const { nodeSelector, tolerations } = (machine.spec as { template: { spec: Placement } }).template.spec
      return { nodeSelector, tolerations }
    }
    type Placement = { readonly nodeSelector?: object; readonly tolerations?: object }
    const LAB = { disk: 'ssd' }
    const TAINT = [{ key: 'lab', operator: 'Exists' }]
    const THEIRS = { nodeSelector: { zone: 'a' }, tolerations: [{ key: 'theirs' }] }

    it('that people gave it stays, as long as the spec says nothing of it', () => {
      const walk = new MachineWalk().deploy().tamper({ template: THEIRS })
      expect(applied(walk)).toEqual([])
      walk.edit({ nodeSelector: LAB }).settle()
      expect(placed(walk)).toEqual({ ...THEIRS, nodeSelector: LAB })
    })

    it('is that of the spec, and is put right', () => {
      const walk = new MachineWalk().deploy().edit({ nodeSelector: LAB, tolerations: TAINT }).settle()
      expect(placed(walk)).toEqual({ nodeSelector: LAB, tolerations: TAINT })
      expect(applied(walk)).toEqual([])
      walk.tamper({ template: THEIRS }).settle()
      expect(placed(walk)).toEqual({ nodeSelector: LAB, tolerations: TAINT })
    })

    it.each<[string, Readonly<Record<string, unknown>>]>([
      ['leaves it out', { nodeSelector: undefined, tolerations: undefined }],
      ['empties it', { nodeSelector: {}, tolerations: [] }],
    ])('of the spec goes when the spec %s', (_what, change) => {
      const walk = new MachineWalk()
        .deploy()
        .edit({ nodeSelector: LAB, tolerations: TAINT })
        .settle()
        .edit(change)
        .settle()
      expect([placed(walk), applied(walk)]).toEqual([{}, []])
      const isTheirs = walk.tamper({ template: THEIRS }).settle()
      expect(placed(isTheirs)).toEqual(change['nodeSelector'] === undefined ? THEIRS : {})
    })

    it('that KubeVirt stores without empty texts is no change', () => {
      const walk = new MachineWalk()
        .deploy()
        .edit({ nodeSelector: { lab: '' }, tolerations: [{ key: 'a', value: '' }] })
      expect(placed(walk.settle())).toEqual({ nodeSelector: { lab: '' }, tolerations: [{ key: 'a' }] })
    })

    it('is not written over where there is more of it than is kept', () => {
      const tolerations = Array.from({ length: 2_000 }, (_, at) => ({ key: `key-${at}-${'x'.repeat(40)}` }))
      const walk = new MachineWalk().deploy().tamper({ template: { tolerations } }).edit({ name: 'other' }).settle()
      expect(applied(walk)).toEqual([])
      expect(walk.condition('AddedByOthers')?.message).toContain('it is so large')
    })
  })

  it('a Secret that is deleted is made again, and nobody is asked to rebuild', () => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    walk.set({ secret: undefined }).after(MINUTE)
    expect(walk.log.slice(before)).toEqual([
      'apply Secret vm-cloudinit',
      'status Ready/Running',
      'apply VirtualMachine vm',
    ])
    expect(walk.condition('RebuildRequired')).toBeUndefined()
  })
})

describe('what others add to the lists of the machine', () => {
  type Template = {
    volumes: object[]
    networks: object[]
    domain: { devices: { disks: object[]; interfaces: object[] } }
  }
  const template = (walk: MachineWalk) => {
    const { spec } = walk.world.machine ?? {}
    return (spec as { template: { spec: Template } }).template.spec
  }
  const names = (walk: MachineWalk) => {
    const { volumes, networks, domain } = template(walk)
    const lists = [volumes, domain.devices.disks, networks, domain.devices.interfaces] as { name: string }[][]
    return lists.map((list) => list.map(({ name }) => name).join())
  }
  const ADDED = { name: 'data', persistentVolumeClaim: { claimName: 'data', hotpluggable: true } }
  const NIC = { name: 'lab', bridge: {}, macAddress: '02:00:00:00:00:07' }

  function extended(): MachineWalk {
    const walk = new MachineWalk().deploy()
    const { volumes, networks, domain } = template(walk)
    const { disks, interfaces } = domain.devices
    const devices = {
      ...domain.devices,
      disks: [...disks, { name: 'data', disk: { bus: 'scsi' } }],
      interfaces: [NIC, ...interfaces],
    }
    walk.tamper({
      template: {
        volumes: [...volumes, ADDED, { name: 'dump', memoryDump: { claimName: 'dump' } }],
        networks: [...networks, { name: 'lab', multus: { networkName: 'team/lab' } }],
        domain: { ...domain, devices },
      },
    })
    return walk
  }

  it('stays, and is named in a condition', () => {
    const walk = extended()
    expect(walk.plan().apply).toEqual([])
    walk.settle()
    expect(walk.condition('AddedByOthers')?.message).toContain('volume data, volume dump, interface lab; that stays')
    expect([walk.stand, walk.events.at(-1)]).toEqual(['Ready/Running', 'Normal AddedByOthers'])
    expect(walk.settle().step()).toBe(false)
  })

  it('stays where ours is put right, or changes', () => {
    const walk = extended()
    walk.tamper({ template: { volumes: template(walk).volumes.slice(1) } }).settle()
    expect(names(walk)[0]).toBe('rootdisk,cloudinit,data,dump')
    walk.edit({ interfaces: [{ network: 'other-net', ipAddress: '10.20.0.161/24' }] }).settle()
    expect(names(walk)).toEqual([
      'rootdisk,cloudinit,data,dump',
      'rootdisk,cloudinit,data',
      'other-net,lab',
      'other-net,lab',
    ])
    expect(walk.events).toContain('Normal InterfaceRemoved')
  })

  it('stays, also where its MAC address is like one that a spec could give; ours goes', () => {
    const given = { network: 'given', macAddress: '52:54:00:12:34:56' }
    const walk = extended()
      .edit({ interfaces: [given, { network: 'pod' }] })
      .settle()
    expect(names(walk).slice(2)).toEqual(['given,pod,lab', 'given,pod,lab'])
    expect(template(walk).domain.devices.interfaces[0]).toEqual({
      name: 'given',
      bridge: {},
      macAddress: given.macAddress,
    })
    walk.edit({ interfaces: [{ network: 'pod' }] }).settle()
    expect(names(walk).slice(2)).toEqual(['pod,lab', 'pod,lab'])
    walk.edit({ interfaces: undefined }).settle()
    expect(names(walk).slice(2)).toEqual(['default,lab', 'default,lab'])
    expect(walk.settle().step()).toBe(false)
  })

  it('is so much that the operator cannot know all of it: then it changes nothing, and says so', () => {
    const walk = new MachineWalk().deploy()
    const more = Array.from({ length: 800 }, (_, at) => ({ ...ADDED, name: `data-${at}` }))
    walk.tamper({ template: { volumes: more } }).settle()
    expect(names(walk)[0]).toBe(more.map(({ name }) => name).join())
    expect(walk.condition('AddedByOthers')?.message).toMatch(
      /volume data-0, .* and \d+ more; that stays; it is so large/,
    )
  })

  it('is not confused with an interface that we rendered for another spec', () => {
    const walk = new MachineWalk().deploy().edit({ interfaces: undefined }).settle()
    expect(names(walk).slice(2)).toEqual(['default', 'default'])
    walk.edit({ interfaces: SPEC['interfaces'] }).settle()
    expect(names(walk).slice(2)).toEqual(['control-net', 'control-net'])
    expect(walk.condition('AddedByOthers')).toBeUndefined()
  })
})

describe('a change of the spec', () => {
  const conditions = (walk: MachineWalk) =>
    ['RestartRequired', 'RebuildRequired'].map((type) => walk.condition(type)?.status)
  const users = [{ name: 'demo', plain_text_passwd: `${PASSWORD}-2`, lock_passwd: false }]

  it.each<[string, Readonly<Record<string, unknown>>, string[], 'True' | undefined]>([
    ['of its size', { resources: { cpu: '4', memory: '4Gi' } }, ['apply VirtualMachine vm'], undefined],
    ['of its disk', { resources: { cpu: '2', memory: '2Gi', diskSize: '40Gi' } }, [], 'True'],
    ['of its image', { vmDiskImageRef: { name: 'other', namespace: 'farm' } }, [], 'True'],
    ['of its users', { users }, ['apply Secret vm-cloudinit', 'apply VirtualMachine vm'], 'True'],
    ['of its host name', { name: 'other' }, ['apply Secret vm-cloudinit', 'apply VirtualMachine vm'], 'True'],
    [
      'of its addresses',
      { interfaces: [{ network: 'control-net', ipAddress: '10.10.0.162/24' }] },
      ['apply Secret vm-cloudinit', 'apply VirtualMachine vm'],
      'True',
    ],
  ])(
    '%s after the first start reaches what it is about, and a rebuild is asked for only where one is needed',
    (_what, change, writes, rebuild) => {
      const walk = new MachineWalk().deploy()
      const before = walk.log.length
      walk.edit(change).settle()
      expect(walk.log.slice(before).filter((line) => !line.startsWith('status'))).toEqual(writes)
      expect(conditions(walk)).toEqual([undefined, rebuild])
      expect(walk.stand).toBe(rebuild === undefined ? 'Ready/Running' : 'Ready/RebuildRequired')
      expect(walk.status.observedGeneration).toBe(2)
    },
  )

  it('that is taken back is no reason for a rebuild any more', () => {
    const walk = new MachineWalk().deploy().edit({ users }).settle()
    expect(conditions(walk)).toEqual([undefined, 'True'])
    walk.edit({ users: SPEC['users'] }).settle()
    expect(conditions(walk)).toEqual([undefined, undefined])
    expect(walk.events.filter((line) => line.endsWith('RebuildRequired'))).toEqual(['Warning RebuildRequired'])
  })

  it('before the first start is no reason for a rebuild', () => {
    const walk = new MachineWalk().settle().disk(DISK.cloning).edit({ users }).settle()
    expect(walk.disk(DISK.succeeded).start().condition('RebuildRequired')).toBeUndefined()
  })

  it('after a first start that nobody saw yet is one', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded)
    walk.set({ instance: anInstance() }).edit({ users }).settle()
    expect(walk.kubevirt(KUBEVIRT.running).condition('RebuildRequired')?.status).toBe('True')
    walk.edit({ users: SPEC['users'] }).settle()
    expect(walk.condition('RebuildRequired')).toBeUndefined()
  })

  it('after a first start while ignoreOnDeploy was true is one', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).edit({ ignoreOnDeploy: true }).start()
    expect([walk.stand, walk.status.bootedAt]).toEqual(['Ready/NotDeployedAnyMore', toTime(START)])
    walk.set({ instance: undefined }).edit({ ignoreOnDeploy: undefined, users }).settle()
    expect(walk.condition('RebuildRequired')?.status).toBe('True')
  })

  it('after a first start that nobody saw is none where the Secret was made again since: it says nothing of the old one', () => {
    const walk = new MachineWalk().settle().disk(DISK.succeeded).set({ secret: undefined, instance: anInstance() })
    expect(walk.edit({ users }).settle().start().condition('RebuildRequired')).toBeUndefined()
  })

  it('while the guest is off is one all the same', () => {
    const walk = new MachineWalk().deploy().set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)
    expect(walk.edit({ users }).settle().condition('RebuildRequired')?.status).toBe('True')
  })

  it('is no reason for a rebuild to a machine that has a new disk', () => {
    const walk = new MachineWalk().deploy().edit({ users }).settle()
    walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped).diskGone().settle().reap().rebuild()
    expect([walk.status.bootedAt, walk.status.specHash]).toEqual([undefined, undefined])
    walk.disk(DISK.succeeded).start()
    expect(walk.condition('RebuildRequired')).toBeUndefined()
  })

  it('that was made together with the loss of the Secret is not known, and not told', () => {
    const walk = new MachineWalk().deploy()
    walk.now += HOUR
    walk.set({ secret: undefined }).edit({ users }).settle()
    expect(walk.condition('RebuildRequired')).toBeUndefined()
  })

  it('asks for a rebuild also where the Secret was made again long before it', () => {
    const walk = new MachineWalk().deploy()
    walk.now += HOUR
    walk.set({ secret: undefined }).settle()
    walk.now += HOUR
    walk.edit({ users }).settle()
    expect(walk.condition('RebuildRequired')?.status).toBe('True')
  })

  it.each<[string, { type: string; status: string; message?: string }[], string]>([
    [
      'KubeVirt says so',
      [{ type: 'RestartRequired', status: 'True', message: 'memory updated in template spec' }],
      'memory updated in template spec',
    ],
    [
      'CPUs cannot be plugged in',
      [
        { type: 'HotVCPUChange', status: 'True' },
        { type: 'LiveMigratable', status: 'False' },
      ],
      'the machine cannot migrate',
    ],
  ])('asks for a restart where %s, as long as it does', (_what, more, text) => {
    const walk = new MachineWalk().deploy()
    walk.kubevirt({ ...KUBEVIRT.running, conditions: [...KUBEVIRT.running.conditions, ...more] })
    expect(walk.condition('RestartRequired')).toMatchObject({
      status: 'True',
      message: expect.stringContaining(`a change of the spec waits for a restart (virtctl restart vm): ${text}`),
    })
    expect([walk.stand, walk.events.at(-1)]).toEqual(['Ready/RestartRequired', 'Warning RestartRequired'])
    expect(walk.message).toContain(text)
    expect(walk.kubevirt(KUBEVIRT.running).condition('RestartRequired')).toBeUndefined()
    expect(walk.stand).toBe('Ready/Running')
  })
})

it('a change that waits for a migration is told, with what makes it', () => {
  const walk = new MachineWalk().deploy()
  const more = [
    { type: 'HotMemoryChange', status: 'True' },
    { type: 'LiveMigratable', status: 'True' },
  ]
  walk.kubevirt({ ...KUBEVIRT.running, conditions: [...KUBEVIRT.running.conditions, ...more] })
  expect(walk.stand).toBe('Ready/RestartRequired')
  expect(walk.message).toContain('waits for a migration or a restart (virtctl migrate vm, or virtctl restart vm)')
  expect(walk.message).toContain('workloadUpdateMethods')
})

describe('a clone that became a copy', () => {
  it('is told as long as the disk is there', () => {
    const walk = new MachineWalk().settle().disk(DISK.cloning)
    const { clone } = walk.world
    if (clone === undefined) throw new Error('no disk')
    const annotations = { ...clone.metadata.annotations, 'cdi.kubevirt.io/cloneType': 'copy' }
    walk.disk({ metadata: { ...clone.metadata, annotations } })
    expect(walk.condition('FullCopy')?.message).toContain('see the events of DataVolume vm-root')
    walk.disk(DISK.succeeded).start()
    expect([walk.stand, walk.condition('FullCopy')?.status]).toEqual(['Ready/Running', 'True'])
    const cloned = { ...annotations, 'cdi.kubevirt.io/cloneType': 'snapshot' }
    walk.disk({ metadata: { ...clone.metadata, annotations: cloned } })
    expect(walk.condition('FullCopy')).toBeUndefined()
  })
})

it('what a machine was first told is known by the time when it was first seen running', () => {
  const walk = new MachineWalk().settle().disk(DISK.succeeded)
  expect([walk.status.bootedAt, walk.status.specHash]).toEqual([undefined, undefined])
  walk.after(MINUTE).instance({ phase: 'Scheduling' })
  expect(walk.status.bootedAt).toBeUndefined()
  walk.after(MINUTE).start()
  expect(walk.status.bootedAt).toBe(toTime(START + 2 * MINUTE))
  expect(walk.status.specHash).toMatch(/^[0-9a-f]{16}$/)
  // It is the salt of the hashes: with it, passwords could be tried against them.
  const { uid = '' } = walk.world.secret?.metadata ?? {}
  expect(uid).not.toBe('')
  expect(JSON.stringify([walk.status, walk.world.machine])).not.toContain(uid)
  expect(walk.after(HOUR).status.bootedAt).toBe(toTime(START + 2 * MINUTE))
})
