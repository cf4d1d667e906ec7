import { download, type Flow, FROM_DOWNLOAD_TO_SNAPSHOT, PUBLICATION, QUICK } from './flows.ts'
import { PlayedMachine } from './played-machine.ts'

const STATUS = 'update vmdiskimages/status'
/** The operator deletes the image itself, and then all its children. */
export const REMOVAL = [
  'delete vmdiskimages',
  'create events',
  STATUS,
  'delete datasources',
  'delete volumesnapshots',
  'delete datavolumes',
  'patch vmdiskimages',
]

export const atOnce: Flow = {
  name: 'an image of ours that goes with its last reference',
  policy: { ...QUICK, reclaimPolicy: 'Delete', unreferencedTTL: '0s' },
  prepare: async (play) => {
    // It refers to the image and causes its creation, but never uses it.
    await new PlayedMachine(play).create({ ignoreOnDeploy: true })
    await play.untilDownloading()
    play.letThrough()
    await play.untilSynced()
    await play.untilQuiet()
  },
  act: async (play) => {
    const vm = new PlayedMachine(play)
    await vm.delete()
    await vm.untilGone()
    await play.untilGone()
  },
  writes: ['patch virtualmachines', STATUS, ...REMOVAL],
  reporting: [STATUS, 'update virtualmachines/status'],
}

const afterTime: Flow = {
  name: 'an image that goes when nothing has referred to it for its TTL',
  policy: QUICK,
  prepare: async (play) => {
    await play.createImage('image', { reclaimPolicy: 'Delete', unreferencedTTL: '1h' })
    await play.untilDownloading()
    play.letThrough()
    await play.untilSynced()
    await play.untilQuiet()
  },
  act: async (play) => {
    await play.patch({ spec: { unreferencedTTL: '5s' } })
    await play.untilGone()
  },
  writes: [STATUS, ...REMOVAL],
  reporting: [STATUS],
}

const spareVolume: Flow = {
  name: 'success without keeping the source volume',
  policy: { ...QUICK, keepSourceVolume: 'false' },
  prepare: download,
  act: async (play) => {
    play.letThrough()
    await play.untilSynced()
    await play.until('the source volume is gone', () => {
      const { dataVolumes, claims } = play.world.mirror
      return play.of(dataVolumes).length + play.of(claims).length === 0
    })
  },
  writes: [...FROM_DOWNLOAD_TO_SNAPSHOT, ...PUBLICATION, 'delete datavolumes'],
}

/** What the operator deletes without a request. */
export const REMOVAL_FLOWS: readonly Flow[] = [atOnce, afterTime, spareVolume]
