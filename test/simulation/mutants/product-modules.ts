// Modules of the product that mutants change, by area. None is loaded before its mutant is in place.

export const SHARED = {
  apiError: () => import('../../../operator/kube/api-error.ts'),
  apply: () => import('../../../operator/runtime/apply.ts'),
  childRefusals: () => import('../../../operator/runtime/child-refusals.ts'),
  constructs: () => import('@open-terrain/constructs/operator'),
  ensureImage: () => import('../../../operator/images/decide/ensure-image.ts'),
  ownedFields: () => import('../../../operator/runtime/owned-fields.ts'),
  ownership: () => import('../../../operator/cluster/ownership.ts'),
  planWriter: () => import('../../../operator/runtime/plan-writer.ts'),
  preconditions: () => import('../../../operator/runtime/preconditions.ts'),
  quotas: () => import('../../../operator/cluster/quotas.ts'),
  redact: () => import('../../../operator/base/messages.ts'),
  sharedReads: () => import('../../../operator/kube/shared-reads.ts'),
  store: () => import('../../../operator/runtime/store.ts'),
} as const

export const ADMISSION = {
  admission: () => import('../../../operator/controllers/vm-disk-image/admission/admission.ts'),
  blockedQueue: () => import('../../../operator/controllers/vm-disk-image/admission/blocked-queue.ts'),
  download: () => import('../../../operator/controllers/vm-disk-image/admission/decide/download.ts'),
  downloads: () => import('../../../operator/controllers/vm-disk-image/admission/downloads.ts'),
  heldSlots: () => import('../../../operator/controllers/vm-disk-image/admission/held-slots.ts'),
  ledger: () => import('../../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'),
  ledgerContent: () => import('../../../operator/controllers/vm-disk-image/admission/decide/ledger-content.ts'),
  queue: () => import('../../../operator/controllers/vm-disk-image/admission/admission-queue.ts'),
  requests: () => import('../../../operator/controllers/vm-disk-image/admission/decide/requests.ts'),
  slots: () => import('../../../operator/controllers/vm-disk-image/admission/decide/slots.ts'),
} as const

export const IMAGES = {
  adoption: () => import('../../../operator/controllers/vm-disk-image/decide/adoption.ts'),
  controller: () => import('../../../operator/controllers/vm-disk-image/controller.ts'),
  judgeAdoption: () => import('../../../operator/controllers/vm-disk-image/decide/judge-adoption.ts'),
  judge: () => import('../../../operator/controllers/vm-disk-image/decide/judge.ts'),
  throttle: () => import('../../../operator/controllers/vm-disk-image/decide/status-throttle.ts'),
  plan: () => import('../../../operator/controllers/vm-disk-image/decide/plan.ts'),
  progressWatch: () => import('../../../operator/controllers/vm-disk-image/progress-watch.ts'),
  status: () => import('../../../operator/controllers/vm-disk-image/decide/status.ts'),
  triggers: () => import('../../../operator/controllers/vm-disk-image/triggers.ts'),
} as const

export const MACHINES = {
  deadline: () => import('../../../operator/controllers/virtual-machine/decide/deadline.ts'),
  diskRequests: () => import('../../../operator/controllers/virtual-machine/decide/disk-requests.ts'),
  judge: () => import('../../../operator/controllers/virtual-machine/decide/judge.ts'),
  observe: () => import('../../../operator/controllers/virtual-machine/observe.ts'),
  plan: () => import('../../../operator/controllers/virtual-machine/decide/plan.ts'),
  planChildren: () => import('../../../operator/controllers/virtual-machine/decide/plan-children.ts'),
  planDeletion: () => import('../../../operator/controllers/virtual-machine/decide/plan-deletion.ts'),
  planDisk: () => import('../../../operator/controllers/virtual-machine/decide/plan-disk.ts'),
  planHung: () => import('../../../operator/controllers/virtual-machine/decide/plan-hung.ts'),
  planImage: () => import('../../../operator/controllers/virtual-machine/decide/plan-image.ts'),
  secondDisk: () => import('../../../operator/controllers/virtual-machine/decide/second-disk.ts'),
  planReplacement: () => import('../../../operator/controllers/virtual-machine/decide/plan-replacement.ts'),
  references: () => import('../../../operator/controllers/virtual-machine/references.ts'),
  triggers: () => import('../../../operator/controllers/virtual-machine/triggers.ts'),
} as const

export const DATA_SYNCS = {
  controller: () => import('../../../operator/controllers/data-sync/controller.ts'),
  image: () => import('../../../operator/controllers/data-sync/decide/image.ts'),
  ownership: () => import('../../../operator/controllers/data-sync/decide/ownership.ts'),
  references: () => import('../../../operator/controllers/data-sync/references.ts'),
  requests: () => import('../../../operator/controllers/data-sync/decide/requests.ts'),
  status: () => import('../../../operator/controllers/data-sync/decide/status.ts'),
} as const

export const WORKSPACE_SNAPSHOTS = {
  members: () => import('../../../operator/controllers/workspace-snapshot/decide/members.ts'),
  plan: () => import('../../../operator/controllers/workspace-snapshot/decide/plan.ts'),
  restore: () => import('../../../operator/controllers/workspace-snapshot/decide/restore.ts'),
  status: () => import('../../../operator/controllers/workspace-snapshot/decide/status.ts'),
  unfilled: () => import('../../../operator/controllers/workspace-snapshot/decide/unfilled-claims.ts'),
} as const

export const WORKSPACES = {
  asWanted: () => import('../../../operator/controllers/workspace/decide/as-wanted.ts'),
  expiry: () => import('../../../operator/controllers/workspace/decide/expiry.ts'),
  kinds: () => import('../../../operator/controllers/workspace/decide/kinds.ts'),
  lostKeys: () => import('../../../operator/controllers/workspace/lost-keys.ts'),
  machineRequests: () => import('../../../operator/controllers/workspace/decide/machine-requests.ts'),
  overrides: () => import('../../../operator/controllers/workspace/decide/overrides.ts'),
  planDeletion: () => import('../../../operator/controllers/workspace/decide/plan-deletion.ts'),
  plays: () => import('../../../operator/controllers/workspace/decide/plays.ts'),
  references: () => import('../../../operator/controllers/workspace/references.ts'),
  status: () => import('../../../operator/controllers/workspace/decide/status.ts'),
  removalOrder: () => import('../../../operator/controllers/workspace/decide/removal-order.ts'),
  secretCopies: () => import('../../../operator/controllers/workspace/secret-copies.ts'),
  triggers: () => import('../../../operator/controllers/workspace/triggers.ts'),
  views: () => import('../../../operator/controllers/workspace/child-views.ts'),
} as const
