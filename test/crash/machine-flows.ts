import { type Flow, QUICK, success } from './flows.ts'
import type { Play } from './play.ts'
import { PlayedMachine } from './played-machine.ts'

const STATUS = 'update virtualmachines/status'
const REPORTING = [STATUS, 'update vmdiskimages/status']
/** So short that a machine is always kicked before the next operator starts. */
const IMPATIENT = { ...QUICK, vmProvisionTimeout: '1s' }

const USUAL = { policy: QUICK, reporting: REPORTING }

const statusWrites = (...reasons: string[]) => reasons.map((reason) => `${STATUS} ${reason}`)

/** From a machine without an image to one that runs. Every stage lasts until the status reports it. */
async function standUp(play: Play): Promise<void> {
  const vm = new PlayedMachine(play)
  const letClone = vm.holdClone()
  const letStart = vm.holdStart()
  await vm.createNeighbours()
  await vm.create()
  await play.untilDownloading()
  await vm.untilReason('ImageSyncing')
  play.letThrough()
  await play.untilSynced()
  await vm.untilDiskIsAwaited()
  letClone()
  await vm.untilReason('Starting')
  letStart()
  await vm.untilReady()
}

/** @param policy applies when the machine runs */
function runningMachine(
  name: string,
  act: (vm: PlayedMachine, play: Play) => Promise<void>,
  writes: readonly string[],
  policy: Flow['policy'] = QUICK,
): Flow {
  return {
    name,
    ...USUAL,
    prepare: async (play) => {
      await standUp(play)
      await play.untilQuiet()
      if (policy === QUICK) return
      await play.setPolicy(policy)
      // The operator says which values are in force.
      await play.untilQuiet()
    },
    act: (play) => act(new PlayedMachine(play), play),
    writes,
  }
}

export const creation: Flow = {
  name: 'a machine that comes before its image',
  ...USUAL,
  act: standUp,
  writes: [
    ...success.writes,
    ...statusWrites('ImageMissing', 'WaitingForImage', 'ImageSyncing', 'Cloning', 'Starting', 'Running'),
    'patch virtualmachines',
    'create vmdiskimages',
    'create secrets',
    'create datavolumes',
    'create virtualmachines.kubevirt.io',
  ],
}

const kick = runningMachine(
  'a machine that hangs, and is kicked',
  async (vm, play) => {
    const { instance } = vm
    if (instance === undefined) throw new Error('a machine that is ready has an instance')
    const heal = vm.breaks({ type: 'neverReady' })
    await vm.untilKicked(instance)
    const letStart = vm.holdStart()
    heal()
    // From here on it has as much time as it needs.
    await play.setPolicy(QUICK)
    await vm.untilShown('Starting')
    await vm.untilReason('Starting')
    letStart()
    await vm.untilReady()
  },
  [
    ...statusWrites('NotReady', 'Kicked', 'Starting', 'Running'),
    'delete virtualmachineinstances.kubevirt.io',
    // The status of the policy.
    'patch configmaps',
  ],
  IMPATIENT,
)

const crashLoop = runningMachine(
  'a machine whose launcher fails, and that is deleted while its image is',
  async (vm, play) => {
    vm.breaks({ type: 'launcherFails' }, { times: 1 })
    await vm.restart()
    await vm.untilShown('CrashLoopBackOff')
    await vm.untilShown('Running')
    await vm.untilReady()
    await play.untilQuiet()
    await play.deleteImage()
    await play.untilBlocked()
    await play.untilQuiet()
    await vm.delete()
    await vm.untilGone()
    await play.untilGone()
  },
  [
    ...statusWrites('Stopping', 'CrashLoop', 'Running'),
    'update vmdiskimages/status',
    `${STATUS} Deleting`,
    'delete virtualmachines.kubevirt.io',
    'delete datavolumes',
    'delete secrets',
    'patch virtualmachines',
    'update vmdiskimages/status Deleting',
    'delete datasources',
    'delete volumesnapshots',
    'delete datavolumes',
    'patch vmdiskimages',
  ],
)

export const MACHINE_FLOWS: readonly Flow[] = [creation, kick, crashLoop]
