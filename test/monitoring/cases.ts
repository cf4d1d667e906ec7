import type { AlertName } from '@open-terrain/constructs/platform'

/** Series by name and labels, with one value per minute in promtool's notation. */
export type Series = Readonly<Record<string, string>>

export interface AlertCase {
  readonly fires: {
    readonly series: Series
    /** The first minute in which it fires: when its `for` is over. */
    readonly at: string
    /** Labels besides its name and severity. */
    readonly labels?: Readonly<Record<string, string>>
    readonly summary: string
    readonly description: string
  }
  /** Series that must not fire it, by description. */
  readonly silent: Readonly<Record<string, Series>>
}

const NS = 'namespace="sync-operator"'
const gauge = (name: string, value: string) => ({
  [`${name}{${NS},pod="a"}`]: `${value}x240`,
  // The standby replica.
  [`${name}{${NS},pod="b"}`]: '0x240',
})
const labelled = (name: string, labels: string, values: string) => ({ [`${name}{${NS},pod="a",${labels}}`]: values })
const slots = (active: number, limit: number, queued: number, started = '0x240') => ({
  ...gauge('ot_sync_active', `${active}`),
  ...gauge('ot_sync_concurrency_limit', `${limit}`),
  ...gauge('ot_sync_queue_length', `${queued}`),
  ...gauge('ot_sync_without_slot', '0'),
  [`ot_sync_started_total{${NS},pod="a"}`]: started,
})
const leads = (pod: string, values: string) => ({
  [`leader_election_master_status{${NS},pod="${pod}",name="sync-operator"}`]: values,
})
const waits = (name: string) => ({
  fires: { series: gauge(name, '3500+60'), labels: { namespace: 'sync-operator' } },
  silent: {
    'none waits for long': gauge(name, '3000'),
    'each is quick': { [`${name}{${NS},pod="a"}`]: '0+60x40 0+60x40 0+60x40' },
  },
})
const states = (labels: string, values: string) => labelled('ot_state_longest_seconds', labels, values)
const HOURS_25 = `${25 * 3_600}x240`
const machines = waits('ot_vm_longest_wait_seconds')
const workspaces = waits('ot_workspace_longest_wait_seconds')
const OPERATOR = { namespace: 'sync-operator' }

export const CASES: Readonly<Record<AlertName, AlertCase>> = {
  QueueStuck: {
    fires: {
      series: slots(4, 4, 7, '9x240'),
      at: '46m',
      labels: OPERATOR,
      summary: 'Images wait for a slot, and no download has begun for an hour',
      description:
        '7 images are in the queue. All slots are taken by downloads that do not end, or nothing hands them out.',
    },
    silent: {
      'a long queue that moves': slots(4, 4, 700, '0+1x240'),
      'one download in ten minutes': slots(4, 4, 7, Array.from({ length: 24 }, (_, at) => `${at}x9`).join(' ')),
      'a pause that somebody asked for': slots(0, 0, 7),
      'long downloads, and nobody who waits': slots(4, 4, 0),
    },
  },
  SlotIdle: {
    fires: {
      series: slots(1, 4, 7),
      at: '10m',
      labels: OPERATOR,
      summary: 'Images wait for a slot while slots are free',
      description: '3 slots are free, and the images that wait do not get them.',
    },
    silent: {
      'all slots in use': slots(4, 4, 7),
      'nobody who waits': slots(1, 4, 0),
      'a limit that was lowered': slots(4, 2, 7),
      'a slot that changes hands': { ...slots(4, 4, 7), [`ot_sync_active{${NS},pod="a"}`]: '4x8 3x1 4x8 3x1 4x220' },
    },
  },
  OverLimit: {
    fires: {
      series: { ...slots(2, 2, 0), ...gauge('ot_sync_without_slot', '1') },
      at: '2m',
      labels: OPERATOR,
      summary: 'More images download than the policy allows',
      description: 'Downloads run without a slot, or one began while more than the limit were running. 1 are too many.',
    },
    silent: {
      'downloads within the limit': slots(4, 4, 7, '0+1x240'),
      'a limit that was lowered while they ran, and none that began since': {
        ...slots(6, 2, 7),
        [`ot_sync_concurrency_limit{${NS},pod="a"}`]: '6x20 2x220',
        [`ot_sync_started_total{${NS},pod="a"}`]: '0+1x20 20x220',
      },
      'a stray that is stopped at once': {
        ...slots(2, 2, 0),
        [`ot_sync_without_slot{${NS},pod="a"}`]: '0x8 1x0 0x230',
      },
    },
  },
  RetriesExhausted: {
    fires: {
      series: labelled('ot_vmdi_failed', 'reason="RetryLimitExceeded"', '2x240'),
      at: '5m',
      labels: { ...OPERATOR, reason: 'RetryLimitExceeded' },
      summary: 'Images have failed and are not tried again: RetryLimitExceeded',
      description: '2 images are Failed with the reason RetryLimitExceeded. They stay so until somebody acts.',
    },
    silent: {
      'no failure': slots(4, 4, 7),
      'one that somebody retried': labelled('ot_vmdi_failed', 'reason="NotFound"', '1x3 stale'),
    },
  },
  PolicyInvalid: {
    fires: {
      series: { [`ot_config_valid{${NS},pod="a"}`]: '1x240', [`ot_config_valid{${NS},pod="b"}`]: '0x240' },
      at: '1m',
      labels: OPERATOR,
      summary: 'A value of the policy is not used',
      description:
        'A key of ConfigMap sync-operator-policy is unknown, or has a value that is not used. The last valid value stays in force. After a restart of the operator the default is used, and for concurrency the limit in ConfigMap sync-operator-slots. The Events of the ConfigMap name the key.',
    },
    silent: { 'a good policy': { [`ot_config_valid{${NS},pod="a"}`]: '1x240' } },
  },
  NoLeader: {
    fires: {
      series: { ...leads('a', '0x240'), ...leads('b', '0x240') },
      at: '2m',
      labels: OPERATOR,
      summary: 'No replica of the operator leads',
      description:
        'No new download or machine is started, and no status changes. Running downloads and machines continue.',
    },
    silent: {
      'one of two that leads': { ...leads('a', '0x240'), ...leads('b', '1x240') },
      'a fail-over': { ...leads('a', '1x60 _x180'), ...leads('b', '0x61 1x180') },
    },
  },
  StaleWatch: {
    fires: {
      series: labelled('ot_informer_silent_seconds', 'kind="DataVolume"', '0+60x240'),
      at: '8m',
      labels: { ...OPERATOR, pod: 'a', kind: 'DataVolume' },
      summary: 'A replica of the operator receives no changes of DataVolume',
      description:
        'The API server has sent a nothing about DataVolume for 8m 0s. What it knows of them may be out of date.',
    },
    silent: {
      'a bookmark each minute': labelled('ot_informer_silent_seconds', 'kind="DataVolume"', '45x240'),
      'an API server that was away for three minutes': labelled(
        'ot_informer_silent_seconds',
        'kind="DataVolume"',
        '0x10 60+60x3 0x220',
      ),
    },
  },
  LookAlikes: {
    fires: {
      series: labelled('ot_look_alikes_total', 'kind="Pod"', '0x5 3x240'),
      at: '6m',
      labels: { ...OPERATOR, kind: 'Pod' },
      summary: 'Objects of kind Pod pretend to belong to images',
      description: 'Somebody made objects that look like those of the operator and are not. The operator ignores them.',
    },
    silent: {
      none: labelled('ot_look_alikes_total', 'kind="Pod"', '0x240'),
      'those that were known before': labelled('ot_look_alikes_total', 'kind="Pod"', '3x240'),
    },
  },
  NeighbourAway: {
    fires: {
      series: {
        ...labelled('ot_neighbour_away', 'neighbour="KubeVirt"', '1x240'),
        ...labelled('ot_neighbour_away', 'neighbour="CDI"', '0x240'),
      },
      at: '5m',
      labels: { ...OPERATOR, neighbour: 'KubeVirt' },
      summary: 'KubeVirt does not respond',
      description:
        'The controller of KubeVirt does not renew its Lease, or its webhooks cannot be called. What waits for it has the reason KubeVirtNotResponding, and nothing of it times out.',
    },
    silent: {
      'both are there': labelled('ot_neighbour_away', 'neighbour="CDI"', '0x240'),
      'one restarts': labelled('ot_neighbour_away', 'neighbour="CDI"', '0x10 1x3 0x220'),
    },
  },
  DiskLost: {
    fires: {
      series: labelled('ot_vm_disk_loss', 'reason="DiskBeingDeleted"', '0x5 2x240'),
      at: '6m',
      labels: { ...OPERATOR, reason: 'DiskBeingDeleted' },
      summary: 'Virtual machines lose the disk that their guests ran from: DiskBeingDeleted',
      description:
        '2 virtual machines have the condition DiskLost with the reason DiskBeingDeleted. What is not saved while the guest runs is lost. No new disk is made before somebody asks for it.',
    },
    silent: { 'every machine has its disk': labelled('ot_vm_disk_loss', 'reason="DiskLost"', '0x240') },
  },
  ObjectFailed: {
    fires: {
      // The machine that hung for 30 minutes, and failed then.
      series: {
        ...states('kind="VirtualMachine",phase="Provisioning",reason="Starting"', '0+60x30 stale'),
        ...states('kind="VirtualMachine",phase="Failed",reason="Timeout"', '_x30 0+60x210'),
      },
      at: '36m',
      labels: { ...OPERATOR, kind: 'VirtualMachine', reason: 'Timeout' },
      summary: 'A VirtualMachine is Failed: Timeout',
      description: 'The one that failed first has been Failed with the reason Timeout for 6m 0s.',
    },
    silent: {
      'images, which have an alert of their own': states(
        'kind="VMDiskImage",phase="Failed",reason="NotFound"',
        HOURS_25,
      ),
      'one that heals at once': states('kind="DataSync",phase="Failed",reason="ImageFailed"', '0+60x3 stale'),
      'a point in time that is taken': states('kind="WorkspaceSnapshot",phase="Succeeded",reason="Taken"', HOURS_25),
    },
  },
  ObjectBlocked: {
    fires: {
      series: states('kind="VMDiskImage",phase="Queued",reason="SecretMissing"', '0+60x240'),
      at: '21m',
      labels: { ...OPERATOR, kind: 'VMDiskImage', reason: 'SecretMissing' },
      summary: 'A VMDiskImage waits for somebody to act: SecretMissing',
      description: 'The one that has waited longest has had the reason SecretMissing for 21m 0s.',
    },
    silent: {
      'a Secret that somebody makes in time': states(
        'kind="VMDiskImage",phase="Queued",reason="SecretMissing"',
        '0+60x14 stale',
      ),
      'a long queue': states('kind="VMDiskImage",phase="Queued",reason="Queued"', HOURS_25),
    },
  },
  ImageWaiting: {
    fires: {
      series: states('kind="VMDiskImage",phase="Retrying",reason="ImporterNotStarted"', '0+60x240'),
      at: '91m',
      labels: { ...OPERATOR, reason: 'ImporterNotStarted' },
      summary: 'An image has not come further for 1h 31m 0s: ImporterNotStarted',
      description:
        'Its step takes too long, or its attempts fail for the same reason, ImporterNotStarted, again and again.',
    },
    silent: {
      'a long download': states('kind="VMDiskImage",phase="Syncing",reason="Syncing"', HOURS_25),
      'a step of which a new leader does not know when it began': states(
        'kind="VMDiskImage",phase="Syncing",reason="Starting"',
        '9000+60x20 stale',
      ),
    },
  },
  DeletionStuck: {
    fires: {
      series: states('kind="VMDiskImage",phase="Deleting",reason="InUse"', '0+60x240'),
      at: '66m',
      labels: { ...OPERATOR, kind: 'VMDiskImage', reason: 'InUse' },
      summary: 'A VMDiskImage has been Terminating for 1h 6m 0s: InUse',
      description: 'Something still uses it, or one of its finalizers is not removed.',
    },
    silent: {
      'a deletion that ends': states('kind="Workspace",phase="Deleting",reason="Deleting"', '0+60x50 stale'),
    },
  },
  NodeNotIsolated: {
    fires: {
      series: labelled('ot_state_objects', 'kind="Workspace",phase="Ready",reason="NodeNotIsolated"', '3x240'),
      at: '15m',
      labels: OPERATOR,
      summary: 'Members of 3 workspaces reach the services of a node',
      description:
        'The rules of labIsolation are not loaded on a node that runs members of workspaces with networks of their own.',
    },
    silent: {
      'a node that starts': labelled(
        'ot_state_objects',
        'kind="Workspace",phase="Ready",reason="NodeNotIsolated"',
        '3x5 stale',
      ),
    },
  },
  ObjectWarned: {
    fires: {
      series: states('kind="VirtualMachine",phase="Ready",reason="RestartRequired"', '85800+60x240'),
      at: '16m',
      labels: { ...OPERATOR, kind: 'VirtualMachine', reason: 'RestartRequired' },
      summary: 'A VirtualMachine is ready, and not as its author wrote it: RestartRequired',
      description: 'The one that has been so longest has had the reason RestartRequired for 1d 0h 6m 0s.',
    },
    silent: { 'what runs': states('kind="VirtualMachine",phase="Ready",reason="Running"', HOURS_25) },
  },
  OnHold: {
    fires: {
      series: states('kind="VMDiskImage",phase="Queued",reason="Paused"', '85800+60x240'),
      at: '16m',
      labels: { ...OPERATOR, kind: 'VMDiskImage', reason: 'Paused' },
      summary: 'A VMDiskImage has been held back for 1d 0h 6m 0s: Paused',
      description: 'Somebody wanted that, and may have forgotten it.',
    },
    silent: { 'a pause of an hour': states('kind="VMDiskImage",phase="Queued",reason="Paused"', '0+60x60 stale') },
  },
  ArtifactLost: {
    fires: {
      series: { [`ot_vmdi_artifacts_lost_total{${NS},pod="a"}`]: '0x5 3x240' },
      at: '6m',
      labels: OPERATOR,
      summary: 'What disks are cloned from is gone',
      description:
        'Artifacts of images were deleted, or their storage is lost. The images make them again, most by a new download.',
    },
    silent: { none: { [`ot_vmdi_artifacts_lost_total{${NS},pod="a"}`]: '0x240' } },
  },
  VolumeLost: {
    fires: {
      series: { [`ot_workspace_volumes_lost_total{${NS},pod="a"}`]: '0x5 3x240' },
      at: '6m',
      labels: OPERATOR,
      summary: 'What was on a volume of a workspace is gone, or goes with its pods',
      description:
        'Somebody deletes claims of volumes, or their storage is gone. They are not made again before somebody asks for it.',
    },
    silent: { none: { [`ot_workspace_volumes_lost_total{${NS},pod="a"}`]: '0x240' } },
  },
  WorkspaceDeletion: {
    fires: {
      series: { [`ot_workspace_expiring{${NS},pod="a",action="Delete"}`]: '0x5 3x240' },
      at: '6m',
      labels: OPERATOR,
      summary: '3 workspaces are about to be deleted, with their disks and volumes',
      description:
        'The end of these workspaces is near, and their spec.onExpiry is Delete. What is on their disks and volumes is then gone.',
    },
    silent: {
      'those that are switched off': {
        [`ot_workspace_expiring{${NS},pod="a",action="Delete"}`]: '0x240',
        [`ot_workspace_expiring{${NS},pod="a",action="Halt"}`]: '3x240',
      },
    },
  },
  SecretLost: {
    fires: {
      series: { [`ot_workspace_secrets_lost_total{${NS},pod="a"}`]: '0x5 3x240' },
      at: '6m',
      labels: OPERATOR,
      summary: 'Random values of a Secret of a workspace are gone',
      description:
        'Somebody deletes Secrets that the operator made, or keys of them. They are made again with other values: what was made with the old ones goes on with those.',
    },
    silent: { none: { [`ot_workspace_secrets_lost_total{${NS},pod="a"}`]: '0x240' } },
  },
  WorkspaceOverdue: {
    fires: {
      series: gauge('ot_workspace_longest_overdue_seconds', '0x4 3900'),
      at: '10m',
      labels: OPERATOR,
      summary: 'A workspace runs on 1h 5m 0s after its end',
      description: 'It should have been switched off or deleted then.',
    },
    silent: { 'one that waits for its turn': gauge('ot_workspace_longest_overdue_seconds', '300') },
  },
  MachineWaiting: {
    fires: {
      ...machines.fires,
      at: '7m',
      summary: 'A virtual machine has not become ready for 1h 5m 20s',
      description: 'The machine that has waited longest is still Provisioning.',
    },
    silent: machines.silent,
  },
  WorkspaceWaiting: {
    fires: {
      ...workspaces.fires,
      at: '7m',
      summary: 'A workspace has not become ready for 1h 5m 20s',
      description: 'The workspace that has waited longest is still Provisioning.',
    },
    silent: workspaces.silent,
  },
  UnusedImageBytes: {
    fires: {
      series: gauge('ot_vmdi_unreferenced_bytes', `${2 * 2 ** 40}`),
      at: '60m',
      labels: OPERATOR,
      summary: 'Images that nothing refers to take 2TiB',
      description: 'They are deleted automatically when their TTL is over, if their reclaimPolicy is Delete.',
    },
    silent: { 'a few of them': gauge('ot_vmdi_unreferenced_bytes', `${2 ** 39}`) },
  },
}
