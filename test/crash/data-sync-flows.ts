import { DataSyncs } from '../harness/data-syncs.ts'
import { type Flow, FROM_DOWNLOAD_TO_SNAPSHOT, PUBLICATION, QUICK, success } from './flows.ts'
import type { Play } from './play.ts'
import { REMOVAL } from './removal-flows.ts'

const STATUS = 'update datasyncs/status'
const IMAGE_STATUS = 'update vmdiskimages/status'
const REPORTING = [STATUS, IMAGE_STATUS]
/** Images that no DataSync refers to any more are deleted at once. */
const POLICY = { ...QUICK, reclaimPolicy: 'Delete', unreferencedTTL: '0s' }
const USUAL = { policy: POLICY, reporting: REPORTING }
/** From the creation of an image until it is ready, when it takes over the slot of the image before it. */
const NEXT_IMAGE = [
  'create vmdiskimages',
  'patch vmdiskimages',
  'create datavolumes',
  ...FROM_DOWNLOAD_TO_SNAPSHOT,
  ...PUBLICATION,
]
const FIRST_IMAGE = ['create vmdiskimages', ...success.writes]

const statusWrites = (...reasons: string[]) => reasons.map((reason) => `${STATUS} ${reason}`)

/** The DataSyncs of a play. The file of an image has the image's name, unless a vm says otherwise. */
class PlayedDataSyncs {
  readonly dataSyncs: DataSyncs
  readonly #play: Play

  constructor(play: Play) {
    this.dataSyncs = new DataSyncs(play.world, play.namespace)
    this.#play = play
  }

  vm(name: string, version?: string) {
    return this.dataSyncs.vm(name, imageOf(name, version))
  }

  async create(name: string, vms: readonly string[], version?: string): Promise<void> {
    for (const vm of vms) this.#play.holdDownloads(imageOf(vm, version))
    const more = version === undefined ? {} : { version }
    await this.dataSyncs.create(name, [], { vms: vms.map((vm) => this.vm(vm, version)), ...more })
  }

  /** Releases downloads one after the other, because the limit allows only one at a time. */
  async letDownload(...images: readonly string[]): Promise<void> {
    for (const image of images) {
      await this.#play.untilDownloading(1, image)
      this.#play.letThrough(image)
      await this.#play.untilSynced(image)
    }
  }

  /** The status is counted at most every 2 s: without this wait it may show nothing between Queued and Synced. */
  async untilSyncing(name: string): Promise<void> {
    await this.dataSyncs.untilStand(name, 'Syncing', 'Syncing')
  }

  async untilSynced(name: string): Promise<void> {
    await this.dataSyncs.untilStand(name, 'Succeeded', 'Synced')
  }

  /** Waits until this DataSync is the only object that refers to an image. */
  async untilLeftTo(name: string, image: string): Promise<void> {
    await this.#play.until(`only ${name} refers to ${image}`, () => {
      const references = this.dataSyncs.referencesOf(image)
      return references.length === 1 && references[0] === `DataSync/${this.#play.namespace}/${name}`
    })
  }
}

function imageOf(vm: string, version?: string): string {
  return ['035', version, vm].filter((part) => part !== undefined).join('-')
}

const withDataSyncs = (act: (of: PlayedDataSyncs, play: Play) => Promise<void>) => (play: Play) =>
  act(new PlayedDataSyncs(play), play)

const creation: Flow = {
  name: 'a DataSync of two vms',
  ...USUAL,
  act: withDataSyncs(async (of) => {
    await of.create('lab', ['attacker', 'victim'])
    await of.untilSyncing('lab')
    await of.letDownload('035-attacker', '035-victim')
    await of.untilSynced('lab')
  }),
  writes: [...FIRST_IMAGE, ...NEXT_IMAGE, ...statusWrites('Queued', 'Syncing', 'Synced')],
}

export const update: Flow = {
  name: 'a DataSync of which a vm is changed, one added and one removed',
  ...USUAL,
  // Two of its images download at once: their slots are claimed together, or one after the other.
  policy: { ...POLICY, concurrency: '2' },
  reporting: [...REPORTING, 'update configmaps'],
  prepare: async (play) => {
    await creation.act(play)
    await play.untilQuiet()
  },
  act: withDataSyncs(async (of, play) => {
    play.holdDownloads('newer')
    play.holdDownloads('035-router')
    await of.dataSyncs.patch('lab', { spec: { vms: [of.dataSyncs.vm('attacker', 'newer'), of.vm('router')] } })
    await play.untilGone('035-victim')
    await play.untilDownloading(1, '035-attacker')
    play.letThrough('newer')
    await of.letDownload('035-router')
    await of.untilSynced('lab')
  }),
  writes: [
    'patch vmdiskimages',
    'create datavolumes',
    'create volumesnapshots',
    'patch datasources',
    ...NEXT_IMAGE,
    ...REMOVAL,
    ...statusWrites('Synced'),
  ],
}

const newVersion: Flow = {
  name: 'a DataSync of a new version beside that of the old one',
  ...USUAL,
  prepare: withDataSyncs(async (of, play) => {
    await of.create('lab', ['attacker'], '1.0.0')
    await of.letDownload('035-1.0.0-attacker')
    await of.untilSynced('lab')
    await play.untilQuiet()
  }),
  act: withDataSyncs(async (of, play) => {
    await of.create('lab-next', ['attacker'], '1.1.0')
    await of.untilSyncing('lab-next')
    await of.letDownload('035-1.1.0-attacker')
    await of.untilSynced('lab-next')
    await of.dataSyncs.delete('lab')
    await play.untilGone('035-1.0.0-attacker')
  }),
  writes: [...NEXT_IMAGE, 'update configmaps', ...statusWrites('Queued', 'Syncing', 'Synced'), ...REMOVAL],
}

const sharing: Flow = {
  name: 'an image that two DataSyncs share, until the last of them goes',
  ...USUAL,
  prepare: withDataSyncs(async (of, play) => {
    await of.create('one', ['attacker'])
    await of.letDownload('035-attacker')
    await of.untilSynced('one')
    await play.untilQuiet()
  }),
  act: withDataSyncs(async (of, play) => {
    await of.create('two', ['attacker'])
    await of.untilSynced('two')
    await of.dataSyncs.delete('one')
    await of.untilLeftTo('two', '035-attacker')
    await play.untilQuiet()
    await of.untilLeftTo('two', '035-attacker')
    await of.dataSyncs.delete('two')
    await play.untilGone('035-attacker')
  }),
  writes: [...statusWrites('Synced'), ...REMOVAL],
}

const deletion: Flow = {
  name: 'deletion of a DataSync of which one image is ready, and one downloads',
  ...USUAL,
  prepare: withDataSyncs(async (of, play) => {
    await of.create('lab', ['attacker', 'victim'])
    await of.letDownload('035-attacker')
    await play.untilDownloading(1, '035-victim')
    await play.untilQuiet()
  }),
  act: withDataSyncs(async (of, play) => {
    await of.dataSyncs.delete('lab')
    await play.untilGone('035-attacker')
    await play.untilGone('035-victim')
    await play.untilStopped()
  }),
  writes: [...REMOVAL, 'delete vmdiskimages', 'delete datavolumes', 'update configmaps', 'patch vmdiskimages'],
}

export const DATA_SYNC_FLOWS: readonly Flow[] = [creation, update, newVersion, sharing, deletion]
