/** How soon people must act: immediately, in working hours, eventually. */
export type AlertSeverity = 'critical' | 'warning' | 'info'

/** The source for everything about an alert: the rule, its tests, its section in the docs. */
export interface Alert {
  readonly severity: AlertSeverity
  /** In PromQL: what is wrong wherever it has a value. Of all replicas together, by namespace of the operator. */
  readonly expr: string
  /** Something is wrong if `expr` is above this. If absent, `expr` contains the condition. */
  readonly above?: number
  /** Prometheus duration for which it must be wrong without interruption. `0s` means immediately. */
  readonly for: string
  /** Prometheus templates. */
  readonly summary: string
  readonly description: string
}

const HOUR_SECONDS = 3_600
const TIB = 2 ** 40

const sum = (series: string, by = 'namespace') => `sum by (${by}) (${series})`
const STARTED = (window: string) => sum(`increase(ot_sync_started_total[${window}])`)
const IN_USE = sum('ot_sync_active')
const LIMIT = sum('ot_sync_concurrency_limit')
const QUEUE = sum('ot_sync_queue_length')
const LEADERS = 'leader_election_master_status{name="sync-operator"}'

/** Every alert, by its name without the prefix: `QueueStuck` is `OpenTerrainQueueStuck`. */
export const ALERTS = {
  QueueStuck: {
    severity: 'warning',
    expr: `${QUEUE} > 0 and ${LIMIT} > 0 and ${STARTED('15m')} == 0`,
    for: '45m',
    summary: 'Images wait for a slot, and no download has begun for an hour',
    description:
      '{{ $value }} images are in the queue. All slots are taken by downloads that do not end, or nothing hands them out.',
  },
  SlotIdle: {
    severity: 'warning',
    expr: `${LIMIT} - ${IN_USE} > 0 and ${QUEUE} > 0`,
    for: '10m',
    summary: 'Images wait for a slot while slots are free',
    description: '{{ $value }} slots are free, and the images that wait do not get them.',
  },
  OverLimit: {
    severity: 'critical',
    // A lowered limit does not stop downloads, so more than the limit may run. But then no other one may start.
    expr: `${sum('ot_sync_without_slot')} > 0 or (min_over_time((${IN_USE} - ${LIMIT})[10m:1m]) > 0 and ${STARTED('5m')} > 0)`,
    for: '2m',
    summary: 'More images download than the policy allows',
    description:
      'Downloads run without a slot, or one began while more than the limit were running. {{ $value }} are too many.',
  },
  RetriesExhausted: {
    severity: 'warning',
    expr: `${sum('ot_vmdi_failed', 'namespace, reason')} > 0`,
    for: '5m',
    summary: 'Images have failed and are not tried again: {{ $labels.reason }}',
    description:
      '{{ $value }} images are Failed with the reason {{ $labels.reason }}. They stay so until somebody acts.',
  },
  PolicyInvalid: {
    severity: 'warning',
    expr: 'min by (namespace) (ot_config_valid) == 0',
    for: '1m',
    summary: 'A value of the policy is not used',
    description:
      'A key of ConfigMap sync-operator-policy is unknown, or has a value that is not used. The last valid value stays in force. After a restart of the operator the default is used, and for concurrency the limit in ConfigMap sync-operator-slots. The Events of the ConfigMap name the key.',
  },
  NoLeader: {
    severity: 'critical',
    expr: `${sum(LEADERS)} == 0 or absent(${LEADERS})`,
    for: '2m',
    summary: 'No replica of the operator leads',
    description:
      'No new download or machine is started, and no status changes. Running downloads and machines continue.',
  },
  StaleWatch: {
    severity: 'warning',
    expr: 'max by (namespace, pod, kind) (ot_informer_silent_seconds)',
    above: 300,
    for: '2m',
    summary: 'A replica of the operator receives no changes of {{ $labels.kind }}',
    description:
      'The API server has sent {{ $labels.pod }} nothing about {{ $labels.kind }} for {{ $value | humanizeDuration }}. What it knows of them may be out of date.',
  },
  LookAlikes: {
    severity: 'warning',
    expr: `${sum('increase(ot_look_alikes_total[1h])', 'namespace, kind')} > 0`,
    for: '0s',
    summary: 'Objects of kind {{ $labels.kind }} pretend to belong to images',
    description: 'Somebody made objects that look like those of the operator and are not. The operator ignores them.',
  },
  MachineWaiting: {
    severity: 'warning',
    expr: 'max by (namespace) (ot_vm_longest_wait_seconds)',
    above: HOUR_SECONDS,
    for: '5m',
    summary: 'A virtual machine has not become ready for {{ $value | humanizeDuration }}',
    description: 'The machine that has waited longest is still Provisioning.',
  },
  WorkspaceWaiting: {
    severity: 'warning',
    expr: 'max by (namespace) (ot_workspace_longest_wait_seconds)',
    above: HOUR_SECONDS,
    for: '5m',
    summary: 'A workspace has not become ready for {{ $value | humanizeDuration }}',
    description: 'The workspace that has waited longest is still Provisioning.',
  },
  UnusedImageBytes: {
    severity: 'info',
    expr: sum('ot_vmdi_unreferenced_bytes'),
    above: TIB,
    for: '1h',
    summary: 'Images that nothing refers to take {{ $value | humanize1024 }}B',
    description: 'They are deleted automatically when their TTL is over, if their reclaimPolicy is Delete.',
  },
} as const satisfies Readonly<Record<string, Alert>>

export type AlertName = keyof typeof ALERTS

/** Overrides for one alert of one installation. */
export type AlertOverride = Partial<Pick<Alert, 'severity' | 'above' | 'for'>>

/** Returns the anchor of the runbook section about an alert. */
export function runbookAnchor(name: AlertName): string {
  return fullName(name).toLowerCase()
}

/** Returns the name of the alert in Prometheus. */
export function fullName(name: AlertName): string {
  return `OpenTerrain${name}`
}
